"""The page of pictures: every picture is there, small, and drawn by the code beside it."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from helpers.tool_files import load_tool

from efcml import plots
from efcml_paper.pages import PICTURES

pytestmark = pytest.mark.plain

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def gallery():
    return load_tool("draw_gallery")


def test_every_picture_has_a_file_that_is_small(gallery):
    found = gallery.pictures()
    files = {path.stem: path for path in (ROOT / "docs" / "images").glob("*.svg")}
    # docs/tools/draw_speed.py, draw_following.py, draw_labels_together.py and draw_paper.py.
    others = {"scaling", "following", "labels_together"}
    assert set(files) == {*found, *others, *(f"paper-{name}" for name in PICTURES)}
    for path in files.values():
        assert path.stat().st_size < 220_000
        texts = ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")
        assert len(list(texts)) > 5


def test_every_function_is_shown_by_code(gallery):
    code = "".join(gallery.pictures().values())
    for name in plots.__all__:
        assert not name.startswith("draw_") or f"plots.{name}(" in code


def test_pictures_without_code_are_drawn_by_the_tool(gallery):
    assert [name for name, code in gallery.pictures().items() if not code] == list(gallery.REAL)


def test_tool_runs_the_code_of_the_page(gallery, tmp_path, monkeypatch, capsys):
    code = "from efcml import plots\nax = plots.draw_rule_counts([1, 2])\n"
    page = tmp_path / gallery.PAGE
    page.parent.mkdir()
    page.write_text(f"text\n\n![Some words](images/some.svg)\n\n```python\n{code}```\n")
    assert gallery.pictures(tmp_path) == {"some": code}
    monkeypatch.setattr(gallery, "pictures", lambda: {"some": code, "other": ""})
    monkeypatch.setitem(gallery.REAL, "other", lambda: plots.draw_rule_counts([3]))
    assert gallery.main(["--out", str(tmp_path / "out"), "--kinds", "svg", "png"]) == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"some.svg", "some.png", "other.svg", "other.png"}
    assert "some.svg: " in capsys.readouterr().out
    with pytest.raises(SystemExit):
        gallery.main(["missing"])
    assert "no such picture: missing; there are some, other" in capsys.readouterr().err
