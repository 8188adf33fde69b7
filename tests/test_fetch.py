"""Downloads from a real server on this machine, which fails in every way a server can."""

import errno
import hashlib
import os
import re
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from efcml import datasets
from efcml.datasets import DatasetNotFound, FetchError, catalog, download
from efcml.datasets.catalog import CATALOG, Record

CONTENT = np.random.default_rng(7).bytes(150_000)
HALF = len(CONTENT) // 2
XML = b"<labels/>"
OTHER = CONTENT[::-1]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        server.seen.append((self.path, self.headers.get("Range")))
        answers = server.answers.get(self.path, [])
        answer = answers.pop(0) if len(answers) > 1 else answers[0] if answers else serve
        answer(self, server.files.get(self.path))

    def start(self, status, length, **headers):
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Connection", "close")
        self.close_connection = True
        self.end_headers()

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = False  # they are waited for when the server closes

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {"/base/far/rows.arff": CONTENT, "/base/far/labels.xml": XML}
        self.answers = {}
        self.seen = []
        self.closing = threading.Event()
        self.base = f"http://127.0.0.1:{self.server_address[1]}/base"

    def handle_error(self, *_):
        pass  # a client that goes away

    def ranges(self):
        return [wanted for path, wanted in self.seen if path.endswith("rows.arff")]

    def answer(self, *answers):
        """Answer requests for the rows like this, one after the other; the last one stays."""
        self.answers["/base/far/rows.arff"] = list(answers)


@pytest.fixture
def server(monkeypatch):
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(download, "FIRST_PAUSE", 0.001)
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.closing.set()
        running.shutdown()
        thread.join()


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No data anywhere; the catalogue knows a small set of two files."""
    record = Record(
        name="emotions",
        title="title",
        files={
            "our-rows.arff": hashlib.sha256(CONTENT).hexdigest(),
            "labels.xml": hashlib.sha256(XML).hexdigest(),
        },
        n=1,
        p=1,
        K=1,
        n_initial=1,
        source="source",
        licence="licence",
        remote="far",
        renamed={"our-rows.arff": "rows.arff"},
        sizes={"our-rows.arff": len(CONTENT), "labels.xml": len(XML)},
    )
    monkeypatch.setitem(CATALOG, "emotions", record)
    monkeypatch.delenv("EFCML_DATA", raising=False)
    monkeypatch.delenv("EFCML_MULAN", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    package = tmp_path / "alone" / "checkout" / "efcml" / "datasets" / "catalog.py"
    monkeypatch.setattr(catalog, "__file__", str(package))
    return tmp_path


@pytest.fixture
def folder(nowhere):
    return nowhere / "cache" / "efcml"


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.is_dir() else {}


COMPLETE = {"our-rows.arff": CONTENT, "labels.xml": XML}


# --- how the server answers


def serve(handler, content):
    """As a good server does, with ranges."""
    match = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
    if content is None:
        handler.start(404, 0)
    elif not match:
        handler.start(200, len(content))
        handler.wfile.write(content)
    elif int(match[1]) >= len(content):
        handler.start(416, 0)
    else:
        first = int(match[1])
        where = f"bytes {first}-{len(content) - 1}/{len(content)}"
        handler.start(206, len(content) - first, Content_Range=where)
        handler.wfile.write(content[first:])


def cut(handler, content):
    handler.start(200, len(content))
    handler.wfile.write(content[:HALF])


def cut_without_length(handler, content):
    handler.start(200, None)
    handler.wfile.write(content[:HALF])


def cut_in_chunk(handler, content):
    handler.start(200, None, Transfer_Encoding="chunked")
    handler.wfile.write(b"%x\r\n" % len(content) + content[:HALF])


def send_chunks(handler, content):
    handler.start(200, None, Transfer_Encoding="chunked")
    for part in (content[:HALF], content[HALF:], b""):
        handler.wfile.write(b"%x\r\n" % len(part) + part + b"\r\n")


def hang_up(handler, content):
    handler.close_connection = True


def ignore_range(handler, content):
    handler.start(200, len(content))
    handler.wfile.write(content)


def stall(handler, content):
    handler.start(200, len(content))
    handler.wfile.write(content[:HALF])
    handler.server.closing.wait(20)


def never_answer(handler, content):
    handler.close_connection = True
    handler.server.closing.wait(20)


def leave_open(handler, content):
    handler.start(200, len(content))
    handler.wfile.write(content)
    handler.server.closing.wait(20)


def send(other):
    return lambda handler, content: serve(handler, other)


def send_status(status):
    return lambda handler, content: handler.start(status, 0)


def send_wrong_range(handler, content):
    handler.start(206, 10, Content_Range=f"bytes 5-14/{len(content)}")
    handler.wfile.write(content[5:15])


def announce_gigabytes(handler, content):
    handler.start(200, 10**12)
    handler.wfile.write(b"x" * 1000)


def send_endlessly(handler, content):
    handler.start(200, None)
    while not handler.server.closing.is_set():
        handler.wfile.write(b"x" * 50_000)


def fetch(server, **options):
    return datasets.fetch(
        "emotions", base=server.base, timeout=options.pop("timeout", 5), **options
    )


def refused(server, words, **options):
    with pytest.raises(FetchError, match=words) as excinfo:
        fetch(server, **options)
    assert "\n" not in str(excinfo.value)
    assert isinstance(excinfo.value, ValueError)


# --- what must work


def test_files_are_placed_under_our_names_and_not_fetched_again(server, folder):
    assert fetch(server) == folder
    assert files_in(folder) == COMPLETE
    assert server.seen == [("/base/far/rows.arff", None), ("/base/far/labels.xml", None)]
    assert fetch(server) == folder
    assert len(server.seen) == 2
    (folder / "our-rows.arff").write_bytes(OTHER)
    fetch(server)
    assert files_in(folder) == COMPLETE
    assert server.seen[2:] == [("/base/far/rows.arff", None)]


def test_base_address_and_folder_can_be_chosen(server, nowhere, monkeypatch):
    monkeypatch.setenv("EFCML_MULAN", server.base + "/")
    own = nowhere / "deep" / "own"
    assert datasets.fetch("Emotions", folder=str(own)) == own
    assert files_in(own) == COMPLETE
    monkeypatch.setenv("EFCML_MULAN", "http://127.0.0.1:1/nothing")
    assert datasets.fetch("emotions", folder=nowhere / "b", base=server.base) == nowhere / "b"


def test_home_folder_is_expanded(server, nowhere, monkeypatch):
    monkeypatch.setenv("HOME", str(nowhere))
    assert fetch(server, folder="~/data") == nowhere / "data"
    assert files_in(nowhere / "data") == COMPLETE


def test_set_that_load_finds_is_not_fetched(server, nowhere, monkeypatch):
    own = nowhere / "own"
    fetch(server, folder=own)
    monkeypatch.setenv("EFCML_DATA", str(own))
    server.seen.clear()
    assert fetch(server) == own
    assert server.seen == []
    (own / "labels.xml").write_bytes(b"changed")
    with pytest.raises(ValueError, match="labels.xml is not the published file"):
        fetch(server)
    assert (own / "labels.xml").read_bytes() == b"changed"


def test_cut_download_is_resumed_at_once(server, folder):
    server.answer(cut, serve)
    fetch(server)
    assert server.ranges() == [None, f"bytes={HALF}-"]
    assert files_in(folder) == COMPLETE


@pytest.mark.parametrize("way", [cut, cut_without_length, cut_in_chunk])
def test_cut_download_is_resumed_by_the_next_call(server, folder, way):
    server.answer(way, hang_up)
    refused(server, "4 times: check the connection and fetch again")
    assert server.ranges() == [None] + [f"bytes={HALF}-"] * 3
    assert files_in(folder) == {"our-rows.arff.part": CONTENT[:HALF]}
    server.answer(serve)
    server.seen.clear()
    fetch(server)
    assert server.ranges() == [f"bytes={HALF}-"]
    assert files_in(folder) == COMPLETE


def test_pauses_get_longer(server, folder, monkeypatch):
    pauses = []
    monkeypatch.setattr(download, "FIRST_PAUSE", 0.5)
    monkeypatch.setattr(download.time, "sleep", pauses.append)
    server.answer(cut, cut, cut, serve)
    fetch(server)
    assert pauses == [0.5, 1.0, 2.0]


def leave_part(folder, content, name="our-rows.arff.part", age=0.0):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(content)
    os.utime(path, (time.time() - age,) * 2)


@pytest.mark.parametrize(
    ("left", "answer", "ranges"),
    [
        (CONTENT[:HALF], ignore_range, [f"bytes={HALF}-"]),
        (OTHER[:HALF], serve, [f"bytes={HALF}-", None]),
        (OTHER[:HALF], ignore_range, [f"bytes={HALF}-"]),
        (CONTENT, serve, []),
        (OTHER, serve, [None]),
        (CONTENT + b"more", serve, [None]),
        (b"", serve, [None]),
    ],
    ids=["no ranges", "stale", "stale, no ranges", "whole", "whole, stale", "long", "empty"],
)
def test_what_is_left_is_used_if_it_fits(server, folder, left, answer, ranges):
    leave_part(folder, left)
    server.answer(answer)
    fetch(server)
    assert server.ranges() == ranges
    assert files_in(folder) == COMPLETE


@pytest.mark.parametrize("answer", [send_wrong_range, send_status(416)])
def test_wrong_range_starts_over(server, folder, answer):
    leave_part(folder, CONTENT[:HALF])
    server.answer(answer, serve)
    fetch(server)
    assert server.ranges() == [f"bytes={HALF}-", None]
    assert files_in(folder) == COMPLETE


def test_partial_answer_nobody_asked_for_is_refused(server, folder):
    server.answer(lambda handler, content: handler.start(206, 0), serve)
    fetch(server)
    assert files_in(folder) == COMPLETE


@pytest.mark.parametrize("answer", [send_chunks, leave_open])
def test_other_ways_to_end_a_body(server, folder, answer):
    server.answer(answer)
    start = time.monotonic()
    fetch(server, timeout=60)
    assert time.monotonic() - start < 30
    assert files_in(folder) == COMPLETE


@pytest.mark.parametrize("status", [500, 503, 429])
def test_passing_fault_of_the_server_is_tried_again(server, folder, status):
    server.answer(send_status(status), serve)
    fetch(server)
    assert files_in(folder) == COMPLETE


def test_redirect_is_followed_with_its_range(server, folder):
    def redirect(handler, content):
        handler.start(302, 0, Location="/base/else")

    server.files["/base/else"] = CONTENT
    server.answer(redirect)
    leave_part(folder, CONTENT[:HALF])
    fetch(server)
    assert ("/base/else", f"bytes={HALF}-") in server.seen
    assert files_in(folder) == COMPLETE


# --- what must fail, and what is on disk then


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/rows", "file:///etc/hostname"])
def test_redirect_leads_to_http_only(server, folder, target):
    server.answer(lambda handler, content: handler.start(302, 0, Location=target))
    refused(server, "unknown url type: ftp|302 Found")
    assert files_in(folder) == {}


def test_server_that_stalls_is_given_up(server, folder):
    server.answer(stall)
    start = time.monotonic()
    refused(server, r"the server did not answer for 0\.1 s, 4 times", timeout=0.1)
    assert time.monotonic() - start < 20  # the usual patience is 30 s each time
    assert files_in(folder) == {"our-rows.arff.part": CONTENT[:HALF]}


def test_server_that_never_answers_is_given_up(server, folder):
    server.answer(never_answer)
    refused(server, r"the server did not answer for 0\.1 s", timeout=0.1)
    assert files_in(folder) == {}


@pytest.mark.parametrize("other", [OTHER, OTHER[:HALF], b"", b"<html>Please log in</html>"])
@pytest.mark.parametrize("kept", [b"", b"changed by its owner"])
def test_wrong_bytes_are_refused_and_removed(server, folder, other, kept):
    server.answer(send(other))
    if kept:
        leave_part(folder, kept, name="our-rows.arff")
    refused(server, r"rows.arff is not the published file \(its sha256 differs\)")
    assert files_in(folder) == ({"our-rows.arff": kept} if kept else {})
    assert server.ranges() == [None]


def test_short_chunked_body_is_wrong_not_cut(server, folder):
    server.answer(lambda handler, content: send_chunks(handler, content[:-1]))
    refused(server, "not the published file")
    assert files_in(folder) == {}


def test_stale_part_and_wrong_bytes_start_over_only_once(server, folder):
    leave_part(folder, OTHER[:HALF])
    server.answer(send(OTHER))
    refused(server, "not the published file")
    assert server.ranges() == [f"bytes={HALF}-", None]
    assert files_in(folder) == {}


def test_file_that_is_not_there(server, folder):
    del server.files["/base/far/rows.arff"]
    refused(server, "the server answers 404 Not Found: check the base address, .*EFCML_MULAN")
    assert files_in(folder) == {}
    assert len(server.seen) == 1
    leave_part(folder, CONTENT[:HALF])
    refused(server, "404")
    assert files_in(folder) == {"our-rows.arff.part": CONTENT[:HALF]}


def test_server_that_is_out_of_order(server, folder):
    server.answer(send_status(500))
    refused(server, "the server answers 500 Internal Server Error, 4 times: check the connection")
    assert files_in(folder) == {}
    assert len(server.seen) == 4
    server.answer(send_status(599))
    refused(server, "the server answers 599, 4 times")


def test_second_file_fails_and_the_first_one_stays(server, folder):
    server.answers["/base/far/labels.xml"] = [send_status(403)]
    refused(server, "labels.xml: the server answers 403 Forbidden")
    assert files_in(folder) == {"our-rows.arff": CONTENT}


@pytest.mark.parametrize("answer", [announce_gigabytes, send_endlessly, send(CONTENT + b"more")])
@pytest.mark.parametrize("left", [b"", CONTENT[:HALF]])
def test_body_that_is_too_large_is_refused(server, folder, answer, left):
    leave_part(folder, left)
    server.answer(answer)
    refused(server, r"is larger than the published file \(150000 bytes\)")
    assert files_in(folder) == {}


def test_nobody_listens(server, folder):
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as other:
        port = other.server_address[1]
    with pytest.raises(FetchError, match=r"the connection failed \('.+'\), 4 times"):
        datasets.fetch("emotions", base=f"http://127.0.0.1:{port}")
    assert files_in(folder) == {}


def test_server_that_speaks_no_http(server, folder):
    def babble(handler, content):
        handler.wfile.write(b"\x1b[31mhello" + b"o" * 1000 + b"\r\n\r\n")
        handler.close_connection = True

    server.answer(babble)
    refused(server, r"the connection failed \('\\x1b\[31mhelloo{1,100}\.\.\.'\)")
    assert files_in(folder) == {}


def interrupt(handler, content):
    """Send a half, then press Ctrl-C."""
    cut(handler, content)
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)
    handler.server.closing.wait(20)


def test_interrupt_keeps_the_part(server, folder):
    server.answer(interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch(server, timeout=20)
    assert files_in(folder) == {"our-rows.arff.part": CONTENT[:HALF]}
    server.answer(serve)
    fetch(server)
    assert server.ranges() == [None, f"bytes={HALF}-"]
    assert files_in(folder) == COMPLETE


# --- the disk


def test_file_in_place_of_the_folder(server, nowhere):
    (nowhere / "taken").write_text("a file")
    for folder in (nowhere / "taken", nowhere / "taken" / "below"):
        refused(server, r"cannot write to .*taken.* \(.+\): make room there or", folder=folder)
    assert (nowhere / "taken").read_text() == "a file"
    assert server.seen == []


def test_folder_in_place_of_the_file(server, folder):
    (folder / "our-rows.arff").mkdir(parents=True)
    refused(server, r"cannot write to .* \(.+\)")
    assert [path.name for path in folder.iterdir()] == ["our-rows.arff"]


def test_folder_that_cannot_be_written(server, folder, monkeypatch):
    def refuse(path, **_):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "touch", refuse)
    refused(server, r"cannot write to .*efcml \(Permission denied\): make room")
    assert server.seen == []
    assert files_in(folder) == {}


def test_full_disk_leaves_nothing(server, folder, monkeypatch):
    def open_full(path, mode):
        file = open(path, mode)
        write = file.write

        class Full:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                file.close()

            def write(self, chunk):
                write(chunk[:10])
                raise OSError(errno.ENOSPC, "No space left on device")

        return Full()

    monkeypatch.setattr(download, "open", open_full, raising=False)
    refused(server, r"cannot write to .*efcml \(No space left on device\): make room there")
    assert files_in(folder) == {}
    assert len(server.seen) == 1


def test_name_that_cannot_be_given(server, folder, monkeypatch):
    def refuse(source, target):
        raise OSError("")

    leave_part(folder, b"old", name="our-rows.arff")
    monkeypatch.setattr(download.os, "replace", refuse)
    refused(server, r"cannot write to .*efcml \(\)")
    assert files_in(folder) == {"our-rows.arff": b"old"}


def test_name_is_given_in_one_step(server, folder, monkeypatch):
    replace, given = os.replace, []

    def watch(source, target):
        given.append(
            (source.parent, target, files_in(folder).get(target.name), source.read_bytes())
        )
        replace(source, target)

    monkeypatch.setattr(download.os, "replace", watch)
    fetch(server)
    assert given == [(folder, folder / name, None, COMPLETE[name]) for name in COMPLETE]


# --- several at once


def test_simultaneous_downloads_do_not_meet(server, folder):
    leave_part(folder, CONTENT[:HALF])
    ready = threading.Barrier(4, timeout=10)

    def together(handler, content):
        ready.wait()
        serve(handler, content)

    server.answer(together)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(fetch(server, timeout=20))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [folder] * 4
    assert files_in(folder) == COMPLETE
    # One took over what was left; the others could not.
    assert sorted(server.ranges(), key=str) == [None] * 3 + [f"bytes={HALF}-"]


def test_unfinished_file_of_another_process_is_left_alone(server, folder):
    leave_part(folder, OTHER[:9], name="our-rows.arff.0123.part", age=60)
    fetch(server)
    assert files_in(folder) == {**COMPLETE, "our-rows.arff.0123.part": OTHER[:9]}


def test_abandoned_files_are_taken_over(server, folder, monkeypatch):
    replace, ages = os.replace, []

    def watch(source, target):
        ages.append(time.time() - source.stat().st_mtime)
        replace(source, target)

    monkeypatch.setattr(download.os, "replace", watch)
    leave_part(folder, CONTENT[:HALF], name="our-rows.arff.0123.part", age=4000)
    leave_part(folder, CONTENT[:99], name="our-rows.arff.4567.part", age=5000)
    leave_part(folder, CONTENT[:9])
    leave_part(folder, b"other", name="rows.arff.part")
    fetch(server)
    assert server.ranges() == [f"bytes={HALF}-"]
    assert files_in(folder) == {**COMPLETE, "rows.arff.part": b"other"}
    assert len(ages) == 5 and max(ages) < 60  # so that nobody else takes them over again


def test_other_process_takes_the_part_first(server, folder, monkeypatch):
    leave_part(folder, CONTENT[:HALF])
    replace = os.replace

    def be_late(source, target):
        if source.name == "our-rows.arff.part":
            source.unlink()
        replace(source, target)

    monkeypatch.setattr(download.os, "replace", be_late)
    fetch(server)
    assert server.ranges() == [None]
    assert files_in(folder) == COMPLETE


# --- the bar


def test_progress_bar_counts_bytes(server, folder, monkeypatch):
    bars = []

    def make(total, label, **options):
        bars.append(progress_bar(total, label, **options))
        return bars[-1]

    progress_bar = download.progress_bar
    monkeypatch.setattr(download, "progress_bar", make)
    leave_part(folder, OTHER[:HALF])
    server.answer(serve, cut, serve)
    fetch(server, progress=True)
    (bar,) = bars
    assert bar.total == bar.n == len(CONTENT) + len(XML)
    assert (bar.unit, bar.unit_scale, bar.desc) == ("B", True, "fetching emotions")


def test_progress_bar_is_quiet_in_a_pipe(server, folder, capsys):
    fetch(server)
    assert capsys.readouterr() == ("", "")
    fetch(server, folder=folder / "second", progress=True)
    assert "fetching emotions" in capsys.readouterr().err


# --- what is asked for


@pytest.mark.parametrize(
    "base",
    [
        "ftp://host/path",
        "file:///data",
        "host/path",
        "http://",
        "http://user:word@host/",
        "http://host/?a=b",
        "http://host/#a",
        "http://host:99999/",
        "http://host:0/",
        "http://ho st/",
        "http://host/\nx",
        "http://a..b/",
        "http://[::1/",
        "http://höst/",
    ],
)
def test_base_address_must_be_plain_http(nowhere, folder, base):
    with pytest.raises(FetchError, match="cannot be used: give one like https://") as excinfo:
        datasets.fetch("emotions", base=base)
    assert "\n" not in str(excinfo.value) and "word" not in str(excinfo.value)
    assert files_in(folder) == {}


def test_good_base_addresses():
    assert download.check_base("https://host:8080/a/b/") == "https://host:8080/a/b"
    assert download.check_base("http://[::1]") == "http://[::1]"
    assert download.check_base(download.MULAN) == download.MULAN


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_timeout_is_checked(server, nowhere, timeout):
    with pytest.raises(ValueError, match="timeout is .*: give seconds"):
        fetch(server, timeout=timeout)


def test_sets_that_cannot_be_fetched(server, folder):
    with pytest.raises(FetchError, match="mediamill cannot be fetched: .*scikit-multilearn 0.0.1"):
        datasets.fetch("mediamill", base=server.base)
    with pytest.raises(FetchError, match="built in .* datasets.load\\('drifting-clusters'\\)"):
        datasets.fetch("drifting_clusters")
    with pytest.raises(ValueError, match="did you mean 'emotions'"):
        datasets.fetch("emotion")
    assert server.seen == []
    folder.mkdir(parents=True)
    (folder / "mediamill.npz").touch()
    assert datasets.fetch("mediamill") == folder


def test_missing_set_names_the_function(nowhere):
    with pytest.raises(DatasetNotFound, match='or datasets.fetch\\("yeast"\\)'):
        datasets.load("yeast")


@pytest.mark.parametrize("name", ["emotions", "yeast", "birds", "water-quality"])
def test_published_set_arrives_complete(server, name, monkeypatch, tmp_path):
    record = CATALOG[name]
    try:
        paths = catalog.find_files(record)
    except DatasetNotFound as error:
        pytest.skip(str(error))
    server.files = {
        f"/base/{record.remote_path(f)}": path.read_bytes() for f, path in paths.items()
    }
    expected = datasets.load(name)
    datasets.fetch(name, base=server.base, folder=tmp_path)
    monkeypatch.setenv("EFCML_DATA", str(tmp_path))
    ds = datasets.load(name)
    np.testing.assert_array_equal(ds.X, expected.X)
    np.testing.assert_array_equal(ds.Y, expected.Y)
    assert catalog.find_files(record).values() != paths.values()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(record.files)
