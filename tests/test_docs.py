"""The documentation: its examples run, its tables are up to date, its links lead somewhere."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tool_files import load_tool

from efcml.cli.main import build_parser

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


# Whole streams: uncompiled they would take minutes. A process of its own, as a reader would have.
@pytest.mark.slow
@pytest.mark.parametrize(("page", "number"), BLOCKS)
def test_examples_run(page, number, tmp_path):
    code = BLOCK.findall(page.read_text(encoding="utf-8"))[number]
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)}, timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout


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


def test_results_come_from_the_file(write_docs, tmp_path):
    assert "No results yet" in write_docs.results_table(tmp_path)
    path = tmp_path / write_docs.RESULTS
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"emotions": {"pa": 0.51234, "ap": 0.6, "rules": 7}}))
    assert write_docs.results_table(tmp_path).splitlines()[2] == "| emotions | 0.512 | 0.600 | 7 |"


def test_comparisons_have_the_recorded_scores(write_docs):
    found = json.loads((ROOT / write_docs.RESULTS).read_text(encoding="utf-8"))
    scores = {
        name: f"{run['pa']:.3f} / {run['ap']:.3f}".replace("0.", ".") for name, run in found.items()
    }
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("emotions", "water-quality"):
        assert f"| PA / AP on {name} | {scores[name]} |" in readme
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8").replace("**", "")
    names = ("emotions", "water-quality", "yeast", "birds")
    assert f"| efcml | {' | '.join(scores[name] for name in names)} |" in page


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
