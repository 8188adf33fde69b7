"""Downloads from a server on this machine: checked, complete or not there at all."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from efcml import datasets
from efcml.datasets import DatasetNotFound, FetchError
from efcml.datasets import published as catalog
from efcml.datasets.published import CATALOG

FILES = {"our-rows.arff": b"rows " * 9999, "labels.xml": b"<labels/>"}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        """Answer with a status and content, of which fewer bytes may come than announced."""
        name = self.path.removeprefix("/base/far/").replace("rows.arff", "our-rows.arff")
        answers = self.server.answers.get(name)
        status, content, sent = answers.pop(0) if answers else (200, FILES[name], None)
        self.server.seen.append(name)
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:sent])

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A server of a small set, which is nowhere on this machine."""
    record = CATALOG["emotions"]._replace(
        files={name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()},
        remote={"our-rows.arff": "far/rows.arff", "labels.xml": "far/labels.xml"},
    )
    monkeypatch.setitem(CATALOG, "emotions", record)
    for name in ("EFCML_DATA", "EFCML_MULAN", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(catalog, "__file__", str(tmp_path / "a/b/c/catalog.py"))
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.answers, running.seen = {}, []
        running.base = f"http://127.0.0.1:{running.server_address[1]}/base"
        running.folder = tmp_path / "cache" / "efcml"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*") if path.suffix != ".part"}


def test_files_arrive_under_our_names_and_only_once(server, tmp_path, monkeypatch):
    assert datasets.fetch("Emotions", base=server.base) == server.folder
    assert files_in(server.folder) == FILES
    datasets.fetch("emotions", base=server.base)
    assert server.seen == [*FILES]
    (server.folder / "labels.xml").write_bytes(b"changed")
    datasets.fetch("emotions", base=server.base)  # what differs is replaced
    assert (files_in(server.folder), server.seen[2:]) == (FILES, ["labels.xml"])
    own = tmp_path / "deep" / "own"
    monkeypatch.setenv("EFCML_MULAN", server.base + "/")
    assert datasets.fetch("emotions", folder=str(own), progress=True) == own
    assert files_in(own) == FILES
    monkeypatch.setenv("EFCML_DATA", str(own))
    server.seen.clear()
    assert datasets.fetch("emotions") == own and server.seen == []
    (own / "labels.xml").write_bytes(b"changed")  # a folder of one's own is left alone
    with pytest.raises(ValueError, match=r"labels.xml is not the published file"):
        datasets.fetch("emotions")


ROWS, FAILS = FILES["our-rows.arff"], (503, b"", None)


BROKEN = {
    "rows.arff: 404 .*Not Found.*: check the connection and the base": [(404, b"", None)] * 4,
    "rows.arff: its sha256 differs: check the connection": [(200, ROWS[::-1], None)] * 4,
    "or put our-rows.arff, labels.xml into": [(200, ROWS, 99), (200, ROWS, 98), FAILS, FAILS],
    "": [(200, ROWS, 99), FAILS],  # asked for again at once
}


@pytest.mark.parametrize("words", BROKEN)
def test_a_broken_answer_leaves_no_file_and_the_next_one_is_taken(server, words):
    server.answers["our-rows.arff"] = [*BROKEN[words]]
    if words:
        with pytest.raises(FetchError, match=words):
            datasets.fetch("emotions", base=server.base)
        assert files_in(server.folder) == {}
    datasets.fetch("emotions", base=server.base)
    assert files_in(server.folder) == FILES
    assert server.seen == ["our-rows.arff"] * (len(BROKEN[words]) + 1) + ["labels.xml"]


def test_what_cannot_be_fetched_says_why(server):
    with pytest.raises(DatasetNotFound, match=r'or datasets.fetch\("yeast"\)'):
        datasets.load("yeast")
    for name, base, words in (
        ("mediamill", server.base, "mediamill cannot be fetched: .*scikit-multilearn 0.0.1"),
        ("drifting_clusters", None, r"built in .* datasets.load\('drifting-clusters'\)"),
        ("emotions", "ftp://host/path", "cannot be used: give one like https://"),
        ("emotions", "http://user:word@host/", "^((?!word).)*cannot be used: give one like"),
    ):
        with pytest.raises(FetchError, match=words):
            datasets.fetch(name, base=base)
    assert server.seen == []
