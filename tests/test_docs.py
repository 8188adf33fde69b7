"""The documentation: its examples run, its tables are up to date, its links lead somewhere."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from helpers.tool_files import load_tool

from efcml import EFCMLClassifier
from efcml.cli.commands import build_parser
from efcml.datasets import load
from efcml.datasets.built_in import GENERATORS
from efcml.model.params import Params
from efcml.support.probability import squash

ROOT = Path(__file__).resolve().parent.parent
OUTPUTS = load_tool("write_outputs")
PAGES = OUTPUTS.PAGES


def name_of(page):
    return str(page.relative_to(ROOT))


READ = {page: OUTPUTS.read_page(page.read_text(encoding="utf-8")) for page in PAGES}
BLOCKS = [
    pytest.param(
        page, number, id=f"{name_of(page)}-{number if number == 'console' else number + 1}"
    )
    for page, (programs, _) in READ.items()
    for number in programs
]
SHOWN = [
    pytest.param(page, place, id=f"{name_of(page)}-{number}")
    for page, (_, shown) in READ.items()
    for number, place in enumerate(shown, 1)
]


@pytest.fixture(scope="module")
def write_docs():
    return load_tool("write_docs")


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """Run every example and shown command of the pages; return the folder that each one ran in."""
    programs = {
        (page, number): code for page, (some, _) in READ.items() for number, code in some.items()
    }
    return OUTPUTS.run(programs, tmp_path_factory.mktemp("examples"))


# Whole streams: uncompiled they would take minutes.
@pytest.mark.slow
@pytest.mark.parametrize(("page", "number"), BLOCKS)
def test_examples_run(page, number, examples):
    place = examples[page, number]
    error = (place / "err.txt").read_text(encoding="utf-8")
    if OUTPUTS.NO_DATA in error:
        pytest.skip(error.splitlines()[-1])
    assert (place / "done.txt").exists(), error
    assert (place / "out.txt").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(("page", "place"), SHOWN)
def test_pages_show_what_is_printed(page, place, examples):
    printed = OUTPUTS.read_output(examples[page, place.program], place)
    if printed is None:
        pytest.skip("its data set is not there")
    shown = page.read_text(encoding="utf-8")[place.begin : place.end]
    assert OUTPUTS.agree(shown, OUTPUTS.cut(shown, printed)), (
        f"run `make docs-outputs`; {name_of(page)} shows\n{shown}\nand now it prints\n{printed}"
    )


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_text_block_is_an_output(page):
    text = page.read_text(encoding="utf-8")
    loose = [
        m["text"] for m in OUTPUTS.BLOCK.finditer(text) if m["kind"] == "text" and not m["mark"]
    ]
    assert not loose, "put the code that prints it before it and <!-- output --> above it"
    assert len(re.findall("^<!-- output -->$", text, re.M)) == sum(
        bool(block["mark"]) and block["kind"] == "text" for block in OUTPUTS.BLOCK.finditer(text)
    )


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("pa 0.8502", "pa 0.8504", True),  # last digits
        ("pa 0.8502", "pa 0.8505", False),
        ("pa .85, ap", "pa .86, ap", True),
        ("pa .85, ap", "pa .87, ap", False),
        ("[0.9  0.31]", "[0.91 0.31]", True),
        ("[0.9  0.31]", "[0.98 0.31]", False),
        ("0,1.3518888719037667,1", "0,1.3518888719037567,1", True),
        ("0,1.3518888719037667,1", "0,1.3518918719037667,1", False),
        ("20 rules", "21 rules", False),  # whole numbers, words, versions
        ("label0 .50 yes", "label0 .50 no", False),
        ("efcml 0.1.0", "efcml 0.1.1", False),
        ("a\nb\n", "a\n", False),
        ("pa -.10", "pa +.10", False),
        ("r(ms_per_sample=0.213)", "r(ms_per_sample=0.9)", True),  # times
        ("pa  ms/sample\n.81      0.213\n", "pa  ms/sample\n.81     12.500\n", True),
        ("pa  ms/sample\n.81      0.213\n", "pa  ms/sample\n.83      0.213\n", False),
        ("a 0.5\n\nb\n", "a 0.5\nb\n", False),
        ("177 births: 20 rules", "179 births: 20 rules", True),
        ("177 births", "181 births", False),
        ("20 rules", "21 rules", False),
    ],
)
def test_outputs_agree(shown, printed, same):
    assert OUTPUTS.agree(shown, printed) is same
    assert OUTPUTS.agree(printed, shown) is same


def test_lines_are_left_out_again():
    new = "1\n2\n3\n4\n"
    assert OUTPUTS.cut("a\n", new) == new
    assert OUTPUTS.cut("a\n...\n", new) == "1\n...\n"
    assert OUTPUTS.cut("a\n...\nb\nc\n", new) == "1\n...\n3\n4\n"
    assert OUTPUTS.cut("a\nb\nc\n...\nd\n", new) == new
    assert OUTPUTS.cut("a\nb\nc\nd\n...\n", "1\n") == "1\n"


PAGE = """
```python
print("20 rules", 0.5)
```

Words.

<!-- output -->
```text
{python}
```

```console
$ printf 'x\\n3\\n' > rows.csv
$ efcml
{answer}
$ cat rows.csv
{cat}
```
{missing}"""
MISSING = """
```python
raise ValueError("'far' was found in none of the folders ...")
```

<!-- output -->
```text
of another machine
```
"""


def test_stale_outputs_are_written_anew(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(OUTPUTS, "PREPARE", "")
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    # As near as another processor may be, and with lines left out.
    near = {"python": "20 rules 0.4", "cat": "x\n...", "missing": MISSING}
    answer = "efcml: the following arguments are required: COMMAND (try efcml --help)"
    right = near | {"answer": answer}
    page.write_text(PAGE.format(**right | {"python": "30 rules 0.5", "answer": "an old\nanswer"}))
    other.write_text(before := PAGE.format(**right))
    assert OUTPUTS.main(["--check"], [page, other]) == 1
    assert "30 rules" in page.read_text()
    told = capsys.readouterr().out.splitlines()
    assert told == [
        "out of date: page.md",
        "left as it is, for want of a data set: page.md, other.md",
    ]
    assert OUTPUTS.main([], [page, other]) == 0
    assert page.read_text() == PAGE.format(**right | {"python": "20 rules 0.5"})
    assert other.read_text() == before


def test_outputs_of_failing_and_of_missing_code_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(OUTPUTS, "PREPARE", "")
    page = tmp_path / "page.md"
    page.write_text("<!-- output -->\n```text\n1\n```\n")
    with pytest.raises(ValueError, match="no python block"):
        OUTPUTS.main([], [page])
    page.write_text("```python\n1 / 0\n```\n" + page.read_text())
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        OUTPUTS.main([], [page])


@pytest.fixture(scope="module")
def rendered(write_docs):
    return write_docs.render()


def test_tables_are_up_to_date(rendered):
    for file, text in rendered.items():
        assert (ROOT / file).read_text(encoding="utf-8") == text, (
            f"{file} is out of date: run `python docs/tools/write_docs.py`"
        )


def test_every_array_of_a_model_is_listed(rendered):
    rng = np.random.default_rng(0)
    clf = EFCMLClassifier(prior=1.0).fit(rng.normal(size=(40, 2)), rng.integers(0, 2, (40, 2)))
    tables = {"rules": "state", "brief": "state", "recent": "cases"}  # where not called alike
    for name in clf.learner_.state()[1]:
        *_, part, array = ["", *name.split("/")]
        if part:
            mark = tables.get(part, part)
            _, _, rest = rendered["docs/state.md"].partition(f"<!-- {mark}:begin -->")
            assert f"\n| `{array}` |" in rest.partition(f"<!-- {mark}:end -->")[0], name


def test_check_agrees_with_the_files(write_docs, rendered, monkeypatch, capsys):
    monkeypatch.setattr(write_docs, "render", lambda: rendered)
    assert write_docs.main(["--check"]) == 0
    monkeypatch.setattr(write_docs, "render", lambda: rendered | {"README.md": "new"})
    assert write_docs.main(["--check"]) == 1
    assert capsys.readouterr().out == "out of date: README.md\n"


def test_every_parameter_has_a_meaning(write_docs):
    lines = write_docs.parameter_table().splitlines()[2:]
    assert [line.split("`")[1] for line in lines] == list(Params.names())
    # What it does, when to change it, and what is allowed.
    assert all(line.split("|")[3].strip().count(". ") >= 2 for line in lines)


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
    """The record of peers has our lines, too; it must agree with those of the experiments."""
    path = ROOT / "experiments/results/benchmarks/peer_scores.json"
    cells = json.loads(path.read_text(encoding="utf-8"))
    text = (ROOT / "experiments/results/decisions/rivals.jsonl").read_text(encoding="utf-8")
    rivals = {(run["model"], run["set"]): run for run in map(json.loads, text.splitlines())}
    names = ("emotions", "birds", "water-quality", "yeast")
    lines = {"efcml": "efcml", "rules": "efcml-rules", "rff": "efcml-fourier"}
    page, readme = read("docs/comparison.md"), read("README.md")
    runs = runs_in_file_order()
    for model, line in lines.items():
        found = [cells[f"{name}/initial/{line}"] for name in names]
        for name, cell in zip(names, found, strict=True):
            for measure in ("pa", "ap"):
                assert cell[measure] == pytest.approx(rivals[model, name][measure], abs=5e-4)
        shown = [f"{cell['pa']:.3f} / {cell['ap']:.3f}".replace("0.", ".") for cell in found]
        assert f"| {found[0]['title']} | {' | '.join(shown)} |" in page.replace("**", "")
    for name in names:
        cell = cells[f"{name}/initial/efcml"]
        assert f"| {name} | {cell['pa']:.3f} / {cell['ap']:.3f} |".replace("0.", ".") in readme
        # the page on rivals has another record of the same runs
        assert rivals["efcml", name]["pa"] == runs[name, "efcml", "{}"]["pa"]


# -- what pages say ---------------------------------------------------------------------------


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_pages_say_what_probabilities_are():
    sentence = (
        "the score itself between .05 and .95, and beyond that so that the order is kept and values"
        " approach 0 and 1, which in floating point they can reach."
    )
    assert sentence in read("docs/how_it_works.md")
    assert "it is only the score, bent into 0 to 1, and not calibrated." in read(
        "docs/quick_start.md"
    )
    for page in PAGES:
        assert not re.search("cut off at 0|never reach", page.read_text(encoding="utf-8")), page
    middle = np.linspace(0.05, 0.95, 91)
    assert (squash(middle) == middle).all()
    assert (np.diff(squash(np.linspace(-3.0, 4.0, 701))) > 0.0).all()
    assert squash(np.array([1e17])) == 1.0


def test_the_readme_is_short():
    assert len(read("README.md").splitlines()) < 150


def test_readme_says_which_built_in_streams_drift():
    drift = [bool(load(name, n=100, n_initial=20).marks) for name in GENERATORS]
    assert (drift.count(True), drift.count(False)) == (8, 1)
    assert "nine built-in streams, eight that drift and one that does not," in read("README.md")


@pytest.mark.parametrize("page", ["README.md", "docs/tuning.md", "docs/command_line.md"])
def test_pages_say_how_long_a_search_takes(page):
    assert (
        "tries 30 points by default, within two minutes on a few hundred rows, compiling included;"
        " it says before it starts how long it will take. `--grid paper` takes the grid of the"
        " paper."
    ) in read(page)


def test_every_module_is_in_the_table_of_layers():
    table = read("docs/developers.md").partition("## Rooms and layers")[2].partition("|---|")[2]
    rooms = [line.split("|")[2] for line in table.partition("\n\n")[0].splitlines()[1:]]
    named = set(re.findall(r"`(\w+)`", " ".join(rooms)))
    paths = (ROOT / "efcml").iterdir()
    modules = {
        path.stem for path in paths if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert named == modules - {"__init__"}


def test_quick_start_explains_the_numbers_that_it_shows():
    page, streams = read("docs/quick_start.md"), read("docs/results/synthetic.md")
    pa, rules = re.search(r"pa=([\d.]+), ap=[\d.]+, rules=(\d+)", page).groups()
    assert f"partial accuracy: {100 * float(pa):.0f} of 100 label decisions were right" in page
    assert f"at the end, here {rules}. Mostly there are 4 to 10" in page
    assert 4 <= int(rules) <= 10
    known = [
        re.search(rf"^\| {line} \| ([\d.]+)", streams, re.M)[1]
        for line in ("label frequencies of the initial part", "one plane")
    ]
    assert "the label frequencies alone reach {}, one linear model {} (".format(*known) in page


def test_the_picture_of_a_report_is_of_the_run_that_is_shown():
    shown = re.search(
        r"^drifting-clusters +efcml +600 +5400 +(\S+) +(\S+) ", read("docs/command_line.md"), re.M
    )
    title = re.search(
        r"partial accuracy (\S+) and average precision (\S+) with", read("docs/report.md")
    )
    assert title.groups() == shown.groups()


# -- tools, commands, links -------------------------------------------------------------------


def test_marks_must_be_there_once(write_docs):
    text = "a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb\n"
    assert write_docs.fill(text, "x", "new") == text.replace("old", "new")
    with pytest.raises(ValueError, match="x:begin"):
        write_docs.fill("nothing", "x", "new")


def test_long_tables_are_folded():
    fold = load_tool("folded_tables").fold
    table = "| a | `b \\| c` |\n|---|---|" + "\n| 1 | 2 |" * 25
    assert fold(f"x\n\n{table}\n\ny") == (
        f"x\n\n<details>\n<summary>25 lines: a · b | c</summary>\n\n{table}\n\n</details>\n\ny"
    )
    assert fold(table, unfolded=True).startswith("<details open>\n")
    assert fold(table[:-10]) == table[:-10]
    assert fold(table[:-10].replace("1", 200 * "1")).startswith("<details>\n<summary>24 lines: ")
    for page in PAGES:
        open_parts = re.sub(
            "<details.*?</details>", "", page.read_text(encoding="utf-8"), flags=re.S
        )
        assert fold(open_parts) == open_parts, page


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_lines_of_a_table_have_as_many_cells_as_its_head(page):
    for table in re.findall(r"(?:^\|.*\n)+", page.read_text(encoding="utf-8"), re.M):
        lines = table.splitlines()
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1, lines[0]


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
    for name in re.findall(r"`((?:efcml|experiments|tests|docs)/[\w/.]+\.\w+)`", text):
        assert (ROOT / name).exists() or name.startswith("docs/results/"), name


def test_citation_names_version_and_paper():
    from efcml import __version__

    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in text
    assert "10.1016/j.ins.2022.03.045" in text
