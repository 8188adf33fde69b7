"""The file of records: one line of JSON per run, added as runs end."""

import json
import os
from pathlib import Path

from efcml.studies.provenance import defaults, method
from efcml.support.folders import read_lines, replacing
from efcml_paper.data_rows import data_fingerprint

NEEDED = ("key", "pa", "ap", "right", "ap_rows", "curve", "method", "data", "versions")


class Records:
    """Records by the key of their run; of several with one key the last counts.

    A line that was cut or is no record is left out, so its run is done again.
    """

    def __init__(self, path):
        self.path = Path(path)
        self.by_key = {}
        self.superseded = 0  # lines that count no longer
        if self.path.exists():
            lines, self.size = read_lines(self.path)
            for line in lines:
                if isinstance(line, dict) and all(name in line for name in NEEDED):
                    self._keep(line)
                else:
                    self.superseded += 1

    def _keep(self, record):
        self.superseded += record["key"] in self.by_key
        self.by_key[record["key"]] = record

    def of(self, run):
        """Return the record of a run, or None."""
        return self.by_key.get(run.key)

    def is_current(self, run):
        """Tell whether there is a record of a run, made by this method from these data."""
        record = self.of(run)
        return (
            record is not None
            and record["method"] == method()
            and record["data"] == data_fingerprint(run)
        )

    def add(self, record):
        """Keep a record, on disk too."""
        if hasattr(self, "size"):  # what was cut would run into the new line
            os.truncate(self.path, self.size)
            del self.size
        with self.path.open("a") as file:
            file.write(to_line(record))
        self._keep(record)
        self._keep_defaults(record["method"])

    def _keep_defaults(self, name):
        """Keep the parameters that records do not name: those of all models by default."""
        path = self.path.with_name("defaults.json")
        known = json.loads(path.read_text()) if path.exists() else {}
        if name not in known:
            with replacing(path) as file:
                text = json.dumps(known | {name: defaults()}, indent=1)
                file.write(text.encode() + b"\n")

    def drop_old(self, wanted):
        """Forget records of another method that no experiment wants: keys other than these.

        They are left behind when a choice of parameters comes out differently.
        """
        old = [
            key
            for key, record in self.by_key.items()
            if key not in wanted and record["method"] != method()
        ]
        for key in old:
            del self.by_key[key]
        self.superseded += len(old)

    def tidy(self):
        """Write the file anew if it holds lines that count no longer, sorted by key."""
        if self.superseded:
            with replacing(self.path) as file:
                for key in sorted(self.by_key):
                    file.write(to_line(self.by_key[key]).encode())
            self.superseded = 0


def to_line(record):
    """Return a record as one line of text."""
    return json.dumps(record, separators=(",", ":")) + "\n"
