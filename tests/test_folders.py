"""Folders for results."""

import pytest

from efcml.support.folders import make_folder, whole_files


def test_a_folder_is_made_and_tried(tmp_path):
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"cannot write to .*file/x: Not a directory"):
        make_folder(tmp_path / "file" / "x")


def test_files_appear_together_or_not_at_all(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(KeyboardInterrupt), whole_files(tmp_path) as place:
        (place / "a").write_text("new")
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"
    with whole_files(tmp_path) as place:
        (place / "a").write_text("new")
        (place / "b").write_text("more")
        assert (tmp_path / "a").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert (tmp_path / "a").read_text() == "new"
