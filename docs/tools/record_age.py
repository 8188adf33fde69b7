"""By which method the records in files were made, and what a page says if it is not today's."""

import json
from collections import Counter
from pathlib import Path


def methods_in(path):
    """Return how many records of a file were made by which method, None where it is not said.

    A file holds one record, records by name, or one record per line.
    """
    text = Path(path).read_text(encoding="utf-8")
    if Path(path).suffix == ".jsonl":
        records = map(json.loads, text.splitlines())
    else:
        whole = json.loads(text)
        whole = whole.get("sets", whole)
        parts = [part for part in whole.values() if isinstance(part, dict) and "method" in part]
        records = [whole] if "method" in whole or not parts else parts
    return Counter(record.get("method") for record in records)


def age_note(files, root, today):
    """Return what the head of a page says of the files it was made from; nothing if all is new.

    Parameters
    ----------
    files : iterable of str
        Record files, from the root of the repository.
    root : Path
    today : str
        The method of the code.
    """
    told = {}
    for file in files:
        found = methods_in(Path(root) / file)
        total = sum(found.values())
        for name, count in found.items():
            if name != today:
                part = "" if count == total else f"{count} of {total} records of "
                told.setdefault(name, []).append(f"{part}`{file}`")
    if not told:
        return ""
    parts = [
        f"{', '.join(places)} ({'not known' if name is None else f'by {name}'})"
        for name, places in told.items()
    ]
    return f"**Not made by the method of today, {today}, or not known to be:** {'; '.join(parts)}."
