"""Downloads: checked, complete or not there at all. pooch does them; no network is used here."""

import hashlib
from pathlib import Path

import pytest
from requests.exceptions import ConnectionError

from efcml import datasets
from efcml.datasets import DatasetNotFound
from efcml.datasets import published as catalog
from efcml.datasets.published import CATALOG

FILES = {"our-rows.arff": b"rows " * 9999, "labels.xml": b"<labels/>"}
ROWS, FAILS = FILES["our-rows.arff"], ConnectionError("no route to the host")
BASE = "https://mirror.example/base"


@pytest.fixture
def server(monkeypatch, tmp_path):
    """What a server answers, and what it was asked; its small set is nowhere on this machine."""
    record = CATALOG["emotions"]._replace(
        files={name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()},
        remote={"our-rows.arff": "far/rows.arff", "labels.xml": "far/labels.xml"},
    )
    monkeypatch.setitem(CATALOG, "emotions", record)
    monkeypatch.delenv("EFCML_DATA", raising=False)
    monkeypatch.setenv("EFCML_MULAN", f"{BASE}/")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(catalog, "__file__", str(tmp_path / "a/b/c/catalog.py"))
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    answers, seen = {}, []

    def download(url, output_file, pooch):
        seen.append(url)
        name = url.removeprefix(f"{BASE}/far/").replace("rows.arff", "our-rows.arff")
        answer = answers[name].pop(0) if answers.get(name) else FILES[name]
        if isinstance(answer, Exception):
            raise answer
        Path(output_file).write_bytes(answer)

    monkeypatch.setattr("pooch.HTTPDownloader", lambda **options: download)
    return answers, seen, tmp_path / "cache" / "efcml"


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*")}


def test_files_arrive_under_our_names_and_only_once(server, tmp_path, monkeypatch):
    _, seen, folder = server
    assert datasets.fetch("Emotions") == folder
    assert files_in(folder) == FILES
    datasets.fetch("emotions")
    assert seen == [f"{BASE}/far/rows.arff", f"{BASE}/far/labels.xml"]
    (folder / "labels.xml").write_bytes(b"changed")
    datasets.fetch("emotions")  # what differs is replaced
    assert (files_in(folder), seen[2:]) == (FILES, [f"{BASE}/far/labels.xml"])
    monkeypatch.setenv("EFCML_DATA", str(folder.rename(tmp_path / "own")))
    (tmp_path / "own" / "labels.xml").write_bytes(b"changed")  # left alone there
    assert datasets.fetch("emotions") == tmp_path / "own" and len(seen) == 3


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ([FAILS] * 4, "rows.arff: no route to the host: check the connection, or put"),
        ([ROWS[::-1]] * 4, "rows.arff: its sha256 differs: check the connection"),
        ([ROWS[:99], FAILS], ""),  # asked for again at once
    ],
)
def test_a_broken_answer_leaves_no_file_and_the_next_one_is_taken(server, broken, words):
    answers, seen, folder = server
    answers["our-rows.arff"] = [*broken]
    if words:
        with pytest.raises(ValueError, match=words):
            datasets.fetch("emotions")
        assert files_in(folder) == {}
    datasets.fetch("emotions")
    assert files_in(folder) == FILES
    assert len(seen) == len(broken) + 2


def test_what_cannot_be_fetched_says_why(server, monkeypatch):
    with pytest.raises(DatasetNotFound, match=r'or datasets.fetch\("yeast"\)'):
        datasets.load("yeast")
    for name, base, words in (
        ("mediamill", BASE, "mediamill cannot be fetched: .*scikit-multilearn 0.0.1"),
        ("drifting_clusters", BASE, r"built in .* datasets.load\('drifting-clusters'\)"),
    ):
        monkeypatch.setenv("EFCML_MULAN", base)
        with pytest.raises(ValueError, match=words):
            datasets.fetch(name)
    assert server[1] == []
