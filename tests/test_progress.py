"""Progress bars and lines: seen where a person looks."""

import sys
from types import ModuleType, SimpleNamespace

from efcml.support import progress
from efcml.support.progress import in_notebook, is_watched, progress_bar


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
    with progress_bar(2, "work", mininterval=0) as bar:
        bar.update(2)
    out, err = capsys.readouterr()
    assert "work: 100%" in out and err == ""
