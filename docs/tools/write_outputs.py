"""Run the examples and commands of the pages, and write what they print where the pages show it.

A `text` block below the line ``<!-- output -->`` is what the last `python` block above it prints. A
`python` block below ``<!-- goes on -->`` is a part of the one before it.
Lines of a `console` block after ``$ command`` are what the command prints, on both outputs. All
commands of a page run in one folder, in their order. A line ``...`` stands for lines left out: as
many as the page has before and after it are taken from the new output.

What agrees stays as it is, so that times and last digits do not change with every run. Examples
whose data set is not there are left alone, with a note. ``--check`` writes nothing.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PATH = os.pathsep.join([str(ROOT), str(ROOT / "experiments")])
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>output|goes on) -->\n)?```(?P<kind>\S*)\n(?P<text>.*?)^```$", re.S | re.M
)
COMMAND = re.compile(r"^\$ (?P<line>.*)\n(?P<shown>(?:(?!\$ ).*\n)*)", re.M)
LEFT_OUT = "...\n"
NO_DATA = "was found in none of the folders"

# What depends on the machine and the moment: milliseconds per sample.
TIME = re.compile(r"(?<=ms_per_sample=)[\d.]+|(?P<before>ms/sample\n.* )[\d.]+$", re.M)
DECIMAL = re.compile(r"(?<![\w.])[+-]?\d*\.\d+(?:e[+-]\d+)?(?![\w.])")
MOST_PLACES = 6  # decimals that count
COUNT = re.compile(r"(?<![\w.])\d{3,}(?![\w.])")

COMMANDS = """
import contextlib, shlex, subprocess, sys
from efcml.cli import main
sys.stderr = sys.stdout  # as on a terminal
for line in {lines!r}:
    print(end={end!r}, flush=True)
    program, *arguments = shlex.split(line, comments=True)
    if program == "efcml":
        with contextlib.suppress(SystemExit):  # help, and wrong arguments
            main(arguments)
    else:
        subprocess.run(line, shell=True, check=True, stderr=subprocess.STDOUT)
"""
END = "\0"  # between what two commands print

# One process that has imported everything; a copy of it for every program, with its own folder.
PREPARE = """
import matplotlib.pyplot, pandas
import efcml, efcml.cli, efcml.compat.river, efcml.report, efcml.saving, efcml.tuning
efcml.warmup()
"""
RUN = """
import gc, os, pathlib, runpy, sys, traceback
gc.freeze()  # copies need not search what was there before them: half a second each
for file in sorted(pathlib.Path(sys.argv[1]).glob("*/example.py")):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        continue
    os.chdir(file.parent)
    for number, name in ((1, "out.txt"), (2, "err.txt")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), number)
    try:
        runpy.run_path("example.py", run_name="__main__")
        pathlib.Path("done.txt").touch()
    except BaseException:
        traceback.print_exc()
    sys.exit()  # with all that is done at the end of a program, such as to stop its processes
"""


class Shown(NamedTuple):
    """A place of a page that shows what a program prints."""

    begin: int
    end: int
    program: int | str  # number of the python block, or "console"
    part: int  # number of the command


def read_page(text):
    """Return the programs of a page, by number or "console", and what it shows of their output."""
    programs, lines, shown = {}, [], []
    for block in BLOCK.finditer(text):
        if block["kind"] == "python":
            number = len(programs) - (block["mark"] == "goes on")
            programs[number] = programs.get(number, "") + block["text"]
        elif block["kind"] == "text" and block["mark"]:
            if not programs:
                raise ValueError(f"no python block stands before the output {block['text']!r}")
            shown.append(Shown(*block.span("text"), len(programs) - 1, 0))
        elif block["kind"] == "console":
            for command in COMMAND.finditer(text, *block.span("text")):
                shown.append(Shown(*command.span("shown"), "console", len(lines)))
                lines.append(command["line"])
    if lines:
        programs["console"] = COMMANDS.format(lines=lines, end=END)
    return programs, shown


def run(programs, folder):
    """Run programs, each in a process and a folder of its own; return the folders."""
    places = {key: folder / f"{index:03d}" for index, key in enumerate(programs)}
    for key, place in places.items():
        place.mkdir()
        (place / "example.py").write_text(programs[key], encoding="utf-8")
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    subprocess.run(
        [sys.executable, "-W", "error", "-c", PREPARE + RUN, str(folder)],
        check=True,
        timeout=1800,
        env=os.environ | one_thread | {"PYTHONPATH": PATH, "MPLBACKEND": "Agg"},
    )
    return places


def read_output(place, shown):
    """Return what a program has printed, in the part shown; None if its data are missing."""
    out, err = ((place / name).read_text(encoding="utf-8") for name in ("out.txt", "err.txt"))
    if not (place / "done.txt").exists() and NO_DATA not in err:
        raise RuntimeError(f"an example has failed:\n{err}")
    if shown.program == "console":
        out = out.split(END)[shown.part + 1]
    return None if NO_DATA in out + err else out


def cut(shown, printed):
    """Return what is printed, with lines left out as they are where it is shown."""
    old, new = shown.splitlines(keepends=True), printed.splitlines(keepends=True)
    if LEFT_OUT not in old or len(new) < len(old):
        return printed
    head = old.index(LEFT_OUT)
    tail = len(old) - head - 1
    return "".join([*new[:head], LEFT_OUT, *new[len(new) - tail :]])


def agree(shown, printed):
    """Tell whether two outputs are the same but for times, last digits and widths of columns.

    Numbers with decimals may differ by one in the last place, from three decimals on by two; of
    more than six decimals six count. Whole numbers from 100 on may differ by a fiftieth. Processors
    round differently, and a birth more or less may come of it. All else must be equal.
    """
    ours, theirs = (TIME.sub(r"\g<before>#", text) for text in (shown, printed))
    rest = [DECIMAL.sub("#", text) for text in (ours, theirs)]
    words = [COUNT.sub("##", text).splitlines() for text in rest]
    first, second = ([" ".join(line.split()) for line in lines] for lines in words)
    numbers = zip(DECIMAL.findall(ours), DECIMAL.findall(theirs), strict=False)
    counts = zip(*(map(int, COUNT.findall(text)) for text in rest), strict=False)
    return (
        first == second
        and all(are_near(Decimal(a), Decimal(b)) for a, b in numbers)
        and all(abs(a - b) <= max(a, b) / 50 for a, b in counts)
    )


def are_near(a, b):
    """Tell whether two numbers are the same up to their last digits."""
    places = min(-min(a.as_tuple().exponent, b.as_tuple().exponent), MOST_PLACES)
    return abs(a - b) <= (2 if places >= 3 else 1) * Decimal(10) ** -places


def renew(text, shown, outputs):
    """Return a page with new outputs where they do not agree with what is shown."""
    for place, printed in reversed(list(zip(shown, outputs, strict=True))):
        old = text[place.begin : place.end]
        if printed is not None and not agree(old, new := cut(old, printed)):
            text = text[: place.begin] + new + text[place.end :]
    return text


def render(pages, folder):
    """Run everything that pages show the output of; return new texts, and what lacks its data."""
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    found = {page: read_page(text) for page, text in texts.items()}
    wanted = {
        (page, place.program): programs[place.program]
        for page, (programs, shown) in found.items()
        for place in shown
    }
    places = run(wanted, folder)
    missing = []
    for page, (_, shown) in found.items():
        outputs = [read_output(places[page, place.program], place) for place in shown]
        texts[page] = renew(texts[page], shown, outputs)
        missing += [page] * outputs.count(None)
    return texts, missing


def main(arguments=None, pages=PAGES):
    """Write the pages whose outputs have changed; with ``--check`` name them and fail instead."""
    parser = argparse.ArgumentParser(description="Write the outputs that the pages show.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if out of date")
    check = parser.parse_args(arguments).check
    with tempfile.TemporaryDirectory() as folder:
        # Compiled anew: what is kept on disk can be stale after an edit of a kernel.
        os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(folder) / "cache"))
        texts, missing = render(pages, Path(folder))
    old = [page for page, text in texts.items() if page.read_text(encoding="utf-8") != text]
    for page in old if not check else ():
        page.write_text(texts[page], encoding="utf-8")
    if old:
        print(("out of date: " if check else "written: ") + ", ".join(page.name for page in old))
    if missing:
        print("left as it is, for want of a data set: " + ", ".join(page.name for page in missing))
    return int(check and bool(old))


if __name__ == "__main__":
    sys.exit(main())
