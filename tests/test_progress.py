"""Progress bars: seen while work goes on, and nothing of them in a saved notebook."""

import sys
from types import SimpleNamespace

import nbformat
import pytest
from helpers.tool_files import load_tool

from efcml.support import progress
from efcml.support.cellbar import COLUMNS, CellBar
from efcml.support.progress import in_notebook, is_watched, progress_bar

WATCH = """
seen = []

def note(message):
    if message["msg_type"].endswith("display_data"):
        seen.append(message["content"]["data"]["text/plain"])
    return message

get_ipython().display_pub.register_hook(note)
"""
WORK = """
import time
from efcml.support.progress import progress_bar
print("before")
for label in ("first", "second"):
    with progress_bar(4, label, mininterval=0) as bar:
        for _ in range(4):
            time.sleep(0.01)
            bar.update()
print("after")
"""
RUN = """
from efcml import prequential
from efcml.rivals.label_frequencies import LabelFrequencies
result = prequential(LabelFrequencies(), [[0.0]] * 9, [[1.0]] * 9)
"""


def run(*sources, **changes):
    """Execute cells in a kernel, as for a saved notebook; return the cells."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    notebook = nbformat.v4.new_notebook(cells=cells)
    load_tool("run_notebooks").execute(notebook, changes=changes)
    nbformat.validate(notebook)
    return notebook.cells


def test_a_saved_notebook_holds_nothing_of_a_bar():
    _, work, told = run(WATCH, WORK, "print(*seen, sep='\\n')", TQDM_DELAY="0")
    left = [output.text for output in work.outputs if output.output_type == "stream"]
    assert [output.get("name") for output in work.outputs] == ["stdout", None, None, "stdout"]
    assert left == ["before\n", "after\n"]  # the bar takes away what is its own
    for output in work.outputs[1:3]:
        assert output.output_type == "display_data"
        assert output.data == {"text/plain": "", "text/html": ""}
    seen = told.outputs[0].text
    for label in ("first", "second"):
        assert f"{label}:   0%|" in seen
        assert f"{label}: 100%|██████████" in seen


def test_quick_work_leaves_nothing_at_all():
    (cell,) = run(RUN, TQDM_DELAY="1")  # a whole number: old versions of tqdm take no other
    assert cell.outputs == []


class Cell:
    """A cell of a notebook, as far as `IPython.display.display` goes."""

    def __init__(self):
        self.shown = []

    def display(self, data, raw, display_id):
        assert raw and display_id
        self.shown.append(data)
        return SimpleNamespace(update=lambda data, raw: self.shown.append(data))


@pytest.fixture
def cell(monkeypatch):
    pytest.importorskip("IPython")
    cell = Cell()
    monkeypatch.setattr("IPython.display.display", cell.display)
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    return cell


def test_a_bar_in_a_cell_is_drawn_in_one_place(cell, capsys, monkeypatch):
    monkeypatch.setenv("TQDM_DELAY", "0")
    with progress_bar(2, "work", mininterval=0) as bar:
        bar.update(2)
    assert [data["text/plain"][:10] for data in cell.shown] == ["work:   0%", "work: 100%", ""]
    assert max(len(data["text/plain"]) for data in cell.shown) <= COLUMNS
    assert capsys.readouterr() == ("", "")


def test_a_bar_in_a_cell_waits_before_it_is_seen(cell, monkeypatch):
    monkeypatch.delenv("TQDM_DELAY", raising=False)
    with progress_bar(2, "work", mininterval=0) as bar:
        bar.update(2)
    assert cell.shown == []
    with progress_bar(2, "work", mininterval=0, delay=1e-9) as bar:
        bar.update(2)
    assert len(cell.shown) == 2
    with progress_bar(2, "work", show=False) as bar:
        bar.update(2)
    assert len(cell.shown) == 2


def test_a_process_that_only_knows_ipykernel_is_no_notebook(monkeypatch):
    pytest.importorskip("IPython")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    for known in (False, True):
        monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
        if known:
            monkeypatch.setitem(sys.modules, "ipykernel", sys)
        assert not in_notebook()
        assert not is_watched()
        assert not isinstance(progress_bar(1, "work", show=False), CellBar)


def test_a_bar_that_is_drawn_before_its_delay_goes_too(cell):
    with progress_bar(None, "loading", bar_format="{desc}") as bar:
        bar.refresh()
    assert [data["text/plain"] for data in cell.shown] == ["loading", ""]


# A line for who waits


def test_a_line_is_told_where_a_person_sees_it(monkeypatch, capsys):
    progress.tell("in a pipe")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(progress, "is_watched", lambda: True)
    with progress_bar(1, "work", show=False):
        progress.tell("on a terminal")
    assert capsys.readouterr() == ("", "on a terminal\n")
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    progress.tell("in a notebook")
    assert capsys.readouterr() == ("in a notebook\n", "")
