"""Progress bars: seen where a person looks, drawn in one place of a notebook, gone at the end."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from efcml.support import progress
from efcml.support.progress import in_notebook, is_watched, progress_bar


@pytest.fixture
def cell(monkeypatch):
    """What a cell of a notebook shows; IPython itself need not be there."""
    shown = []

    def display(data, raw, display_id):
        assert raw and display_id
        shown.append(data)
        return SimpleNamespace(update=lambda data, raw: shown.append(data))

    module = ModuleType("IPython.display")
    module.display = display
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    return shown


def test_a_bar_in_a_cell_is_drawn_in_one_place_and_goes(cell, capsys, monkeypatch):
    monkeypatch.setenv("TQDM_DELAY", "0")
    with progress_bar(2, "work", mininterval=0) as bar:
        bar.update(2)
    assert [data["text/plain"][:10] for data in cell[:3]] == ["work:   0%", "work: 100%", ""]
    assert cell[-1] == {"text/plain": "", "text/html": ""}
    assert max(len(data["text/plain"]) for data in cell) <= progress.CELL_COLUMNS
    assert capsys.readouterr() == ("", "")


def test_a_bar_in_a_cell_waits_before_it_is_seen(cell, monkeypatch):
    monkeypatch.delenv("TQDM_DELAY", raising=False)
    for options, drawn in (({}, False), ({"delay": 1e-9}, True), ({"show": False}, False)):
        cell.clear()
        with progress_bar(2, "work", mininterval=0, **options) as bar:
            bar.update(2)
        assert bool(cell) == drawn
    with progress_bar(None, "loading", bar_format="{desc}") as bar:
        bar.refresh()  # drawn before its delay
    assert [data["text/plain"] for data in cell] == ["loading", ""]


def test_who_is_a_notebook_and_who_is_watched(monkeypatch):
    module = ModuleType("IPython")
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert not in_notebook() and not is_watched()
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    for shell, expected in ((None, False), (SimpleNamespace(kernel=1), True)):
        module.get_ipython = lambda shell=shell: shell
        assert in_notebook() == is_watched() == expected
    module.get_ipython = lambda: None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert is_watched()


def test_a_line_is_told_where_a_person_sees_it(monkeypatch, capsys):
    progress.tell("in a pipe")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(progress, "is_watched", lambda: True)
    progress.tell("on a terminal")
    assert capsys.readouterr() == ("", "on a terminal\n")
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    progress.tell("in a notebook")
    assert capsys.readouterr() == ("in a notebook\n", "")
