"""The documentation: its examples run, its tables are up to date, its links lead somewhere."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tool_files import load_tool

from efcml.cli.commands import build_parser

pytestmark = pytest.mark.plain

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.S | re.M)


def name_of(page):
    return str(page.relative_to(ROOT))


BLOCKS = [
    pytest.param(page, number, id=f"{name_of(page)}-{number + 1}")
    for page in PAGES
    for number in range(len(BLOCK.findall(page.read_text(encoding="utf-8"))))
]


@pytest.fixture(scope="module")
def write_docs():
    return load_tool("write_docs")


# One process that has imported everything; a copy of it for every example, with its own folder.
RUN_EXAMPLES = """
import os, pathlib, runpy, sys, traceback
import matplotlib.pyplot, pandas
import efcml, efcml.compat.river, efcml.report, efcml.saving, efcml.tuning
efcml.warmup()
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


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """Run every example of the pages; return the folder that each one ran in."""
    folder = tmp_path_factory.mktemp("examples")
    places = {}
    for index, (page, number) in enumerate(block.values for block in BLOCKS):
        places[page, number] = folder / f"{index:03d}"
        places[page, number].mkdir()
        code = BLOCK.findall(page.read_text(encoding="utf-8"))[number]
        (places[page, number] / "example.py").write_text(code, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN_EXAMPLES, str(folder)], check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)}, timeout=900,
    )  # fmt: skip
    return places


# Whole streams: uncompiled they would take minutes.
@pytest.mark.slow
@pytest.mark.parametrize(("page", "number"), BLOCKS)
def test_examples_run(page, number, examples):
    place = examples[page, number]
    assert (place / "done.txt").exists(), (place / "err.txt").read_text(encoding="utf-8")
    assert (place / "out.txt").read_text(encoding="utf-8")


def test_tables_are_up_to_date(write_docs):
    for file, text in write_docs.render().items():
        assert (ROOT / file).read_text(encoding="utf-8") == text, (
            f"{file} is out of date: run `python tools/write_docs.py`"
        )


def test_check_agrees_with_the_files(write_docs):
    assert write_docs.main(["--check"]) == 0


def test_every_parameter_has_a_meaning(write_docs):
    from efcml.params import Params

    lines = write_docs.parameter_table().splitlines()[2:]
    assert [line.split("`")[1] for line in lines] == list(Params.names())
    # What it does, and when to change it.
    assert all(line.split("|")[3].strip().count(". ") >= 1 for line in lines)


def runs_in_file_order():
    """Return the committed runs of the published splits, by set, model and parameters."""
    path = ROOT / "experiments/results/reproduce/records/runs.jsonl"
    runs = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {
        (run["set"], run["model"], json.dumps(run["parameters"])): run
        for run in runs
        if run["start"] == "published" and run["order"] == 0 and run["asking"] is None
    }


def test_results_come_from_the_records(write_docs, tmp_path):
    assert "no records yet" in write_docs.results_table(tmp_path)
    lines = write_docs.results_table().splitlines()[2:]
    runs = runs_in_file_order()
    assert len(lines) == 4
    for line in lines:
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        default = runs[name, "efcml", "{}"]
        assert cells[:3] == [f"{default['pa']:.3f}", f"{default['ap']:.3f}", str(default["rules"])]
        tuned = [
            [f"{run['pa']:.3f}", f"{run['ap']:.3f}", str(run["rules"])]
            for (dataset, model, parameters), run in runs.items()
            if (dataset, model) == (name, "efcml") and "vigilance" in parameters
        ]
        assert cells[3:] in tuned


def test_comparisons_have_the_recorded_scores():
    runs = runs_in_file_order()
    names = ("emotions", "water-quality", "yeast", "birds")
    lines = {"efcml": "efcml", "rules": "efcml, rules alone (`cases=0`)"}
    scores = {
        (model, name): f"{run['pa']:.3f} / {run['ap']:.3f}".replace("0.", ".")
        for model in lines
        for name, run in ((name, runs[name, model, "{}"]) for name in names)
    }
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("**", "")
    for name in ("emotions", "water-quality"):
        assert f"| PA / AP on {name} | {scores['efcml', name]} |" in readme
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8").replace("**", "")
    for model, title in lines.items():
        assert f"| {title} | {' | '.join(scores[model, name] for name in names)} |" in page
    text = (ROOT / "experiments/results/rivals.jsonl").read_text(encoding="utf-8")
    found = {(run["model"], run["set"]): run for run in map(json.loads, text.splitlines())}
    cells = [found["rff", name] for name in names]
    cells = [f"{run['pa']:.3f} / {run['ap']:.3f}".replace("0.", ".") for run in cells]
    assert f"| efcml, one plane on Fourier features | {' | '.join(cells)} |" in page
    for name in names:  # the page on rivals has another record of the same runs
        assert found["efcml", name]["pa"] == runs[name, "efcml", "{}"]["pa"]


def test_marks_must_be_there_once(write_docs):
    text = "a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb\n"
    assert write_docs.fill(text, "x", "new") == text.replace("old", "new")
    with pytest.raises(ValueError, match="x:begin"):
        write_docs.fill("nothing", "x", "new")


def commands_of(page):
    """Return the commands of a page: lines of code that begin with one, without their remarks."""
    lines = re.findall(
        r"^(?:    |\$ )?((?:efcml|make) .*)$", page.read_text(encoding="utf-8"), re.M
    )
    return [line.partition("#")[0].split() for line in lines]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_are_known(page):
    parser = build_parser()
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.M)
    for program, *arguments in commands_of(page):
        if program == "make":
            assert arguments[-1] in targets, arguments
        else:
            parser.parse_args(arguments)


def test_commands_are_found():
    found = [" ".join(words) for words in commands_of(ROOT / "README.md")]
    assert {"make demo", "make test", "efcml datasets fetch emotions"} <= set(found)


def test_tests_that_are_named_exist():
    text = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    named = re.findall(r"`tests/(\w+\.py)::(\w+)`", text)
    assert len(named) > 20
    for file, test in named:
        assert f"\ndef {test}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), test


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_and_file_names_exist(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), target
    for name in re.findall(r"`((?:efcml|tools|tests|docs)/[\w/.]+\.\w+)`", text):
        assert (ROOT / name).exists() or name.startswith("docs/results/"), name


def test_citation_names_version_and_paper():
    from efcml import __version__

    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in text
    assert "10.1016/j.ins.2022.03.045" in text
