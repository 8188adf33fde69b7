"""All records and pages by today's code: ``python experiments/evidence.py [--quick] [NAME ...]``.

A record that today's method has made is not made again, and runs that are done are kept in
``experiments/kept``, so that a second call goes on where the first one was stopped. What fails is
told at the end, and does not keep the rest from being made. Then tables, outputs and pictures of
the pages are written anew. ``--quick`` runs everything on little data, and keeps nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import compared
import efcml
from efcml import Study
from efcml.studies.provenance import made_by, method
from efcml_paper.session import choose_ids, reproduce
from speed import speed

HERE = Path(__file__).resolve().parent
RESULTS, KEPT = HERE / "results", HERE / "kept"
DIGITS = 5
TOOLS = {  # that write pages, with what makes them write nothing
    "write_docs.py": ["--check"],
    "write_outputs.py": ["--check"],
    "draw_gallery.py": ["--out"],
    "run_notebooks.py": ["--quick"],
}


def lines_of(study, measures):
    """Return a line for each data set and model: measures, and differences to the first model."""
    table, differences = study.table(measures), study.differences(measures=measures)
    lines = []
    for (data, model), values in table.iterrows():
        line = {"data": data, "model": model} | values.to_dict()
        if (data, model) in differences.index:
            found = differences.loc[(data, model)]
            line["gain"] = {name: found[name].tolist() for name in measures}
        lines.append(line)
    return lines


def run_study(make, measures, folder, jobs, quick):
    """Run what is missing of a study, or of several, and return the lines."""
    found = make(quick)
    found = found if isinstance(found, list) else [found]
    studies = [Study(**one, folder=folder, measures=measures) for one in found]
    return [line for one in studies for line in lines_of(one.run(jobs), measures)]


def rounded(value):
    """Return a value for a record."""
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(part) for part in value]
    return round(float(value), DIGITS) if isinstance(value, float) else value


def jobs_of(folder, jobs, quick):
    """Return what makes the lines of every record, by its name."""
    made = {"published": partial(compared.published, quick)}
    for name, (make, measures) in compared.STUDIES.items():
        made[name] = partial(run_study, make, measures, folder, jobs, quick)
    made["known-labels"] = partial(compared.known_labels, quick)
    made["paper"] = partial(paper, folder, jobs, quick)
    return made | {"speed": partial(speed, quick)}


def paper(folder, jobs, quick):
    """Return the verdicts on the claims of the paper; its pages go beside the runs."""
    ids = choose_ids("all", quick)
    more = {"quick": quick, "say": print, "runs": folder, "jobs": jobs}
    return reproduce(ids, folder / "paper", **more)


def is_made(path):
    """Whether today's method has made a record."""
    return path.exists() and json.loads(path.read_text())["made"]["method"] == method()


def make_records(names, results, folder, jobs, quick):
    """Make the records that are wanted; return the names of those that could not be made."""
    failed, wanted = [], jobs_of(folder, jobs, quick)
    names = names or list(wanted)
    for i, name in enumerate(names):
        path, begin, where = results / f"{name}.json", time.monotonic(), f"{i + 1}/{len(names)}"
        if is_made(path):
            print(f"{where} {name}: is there", flush=True)
            continue
        print(f"{where} {name} ...", flush=True)
        try:
            lines = wanted[name]()
        except Exception:
            traceback.print_exc()
            failed.append(name)
            continue
        made = {"date": datetime.now(UTC).date().isoformat()} | made_by()
        made["minutes"] = (time.monotonic() - begin) / 60.0
        text = ",\n".join(json.dumps(line) for line in rounded(lines))
        path.write_text(f'{{"made": {json.dumps(rounded(made))}, "lines": [\n{text}\n]}}\n')
        print(f"{where} {name}: {made['minutes']:.1f} minutes", flush=True)
    return failed


def write_pages(quick, folder):
    """Run the tools of the pages; return those that failed. A quick run changes no page."""
    failed = []
    for tool, options in TOOLS.items():
        print(f"{tool} ...", flush=True)
        given = [*options, *([str(folder)] if options == ["--out"] else [])] if quick else []
        command = [sys.executable, str(HERE.parent / "docs/tools" / tool), *given]
        failed += [tool] if subprocess.run(command).returncode else []
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="records; all without")
    parser.add_argument("--quick", action="store_true", help="on little data, for nothing")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    begin = time.monotonic()
    efcml.warmup()
    with tempfile.TemporaryDirectory() as thrown_away:
        results, kept = (Path(thrown_away),) * 2 if given.quick else (RESULTS, KEPT)
        failed = make_records(given.names, results, kept, given.jobs, given.quick)
        failed += [] if given.names else write_pages(given.quick, results)
    print(f"{(time.monotonic() - begin) / 60.0:.1f} minutes", flush=True)
    sys.exit(f"not made: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
