"""The commands of the pages: each one runs, in the order of its page, or says why it cannot.

A block of code says what it is: `bash` is one command per line, which runs here, on small data.
What shows its output runs as it is in test_docs.py: `python` with its `text`, and `console`.
"""

import dataclasses
import functools
import hashlib
import re
import shlex
import shutil
import subprocess
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from test_docs import PAGES, ROOT, name_of

from efcml import datasets
from efcml.cli import main, outcome
from efcml.cli.commands import build_parser
from efcml.datasets import CATALOG, catalog
from efcml.studies import study_page

pytestmark = pytest.mark.plain

BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.S | re.M)
INDENTED = re.compile(r"(?:^(?: {4}.*)?\n)*^ {4}.*\n", re.M)
KINDS = ("python", "bash", "console", "text")
# Formulas, and code for a library that is not installed.
INDENTED_PAGES = {"docs/how_it_works.md", "docs/reading.md", "docs/ecosystem.md"}
SHORT = {  # more arguments, so that it is quick
    "run": ["--quick"],
    "tune": ["--vigilance", "0.5", "--folds", "2", "--jobs", "1"],
    "study": ["--orders", "1", "--jobs", "1"],
}
# First words of commands that are not run here, and where they are.
ELSEWHERE = {
    "make": "the targets are what runs these tests; here only a dry run",
    ".": "activates an environment of the reader's shell",
    "dask": "needs several machines; tests/test_tuning_dask.py starts a cluster on this one",
}
# Subcommands that take minutes even on cut streams: only their arguments are read here.
LONG = {"reproduce": "tests/test_reproduce_*.py run it on tiny streams"}


def commands_of(page):
    """Return the commands of a page that show no output, in order, as words."""
    return [
        shlex.split(line, comments=True)
        for kind, text in BLOCK.findall(page.read_text(encoding="utf-8"))
        for line in text.splitlines()
        if kind == "bash" and line.strip()
    ]


WITH_COMMANDS = [page for page in PAGES if commands_of(page)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_what_it_is(page):
    text = page.read_text(encoding="utf-8")
    for kind, content in BLOCK.findall(text):
        assert kind in KINDS, content
        assert kind != "console" or content.startswith("$ "), content
    indented = INDENTED.findall(BLOCK.sub("", text))
    assert not indented or name_of(page) in INDENTED_PAGES, indented


def test_commands_are_found():
    found = {name_of(page): commands_of(page) for page in PAGES}
    assert ["make", "demo"] in found["README.md"]
    assert ["efcml", "datasets", "fetch", "emotions"] in found["README.md"]
    assert ["dask", "scheduler"] in found["docs/tuning.md"]
    assert sum(len(commands) for commands in found.values()) > 25


def write_set(folder, ds, *parts):
    """Write a data set as ARFF files, one per slice of rows, and a list of labels."""
    names = [*ds.feature_names, *ds.label_names]
    kinds = ["numeric"] * len(ds.feature_names) + ["{0,1}"] * len(ds.label_names)
    head = [f"@attribute {name} {kind}" for name, kind in zip(names, kinds, strict=True)]
    for path, rows in parts:
        table = np.hstack([ds.X[rows], ds.Y[rows]]).tolist()
        lines = [",".join(f"{v:g}" for v in row) for row in table]
        path.write_text("\n".join(["@relation r", *head, "@data", *lines]) + "\n")
    labels = "".join(f'<label name="{name}"></label>' for name in ds.label_names)
    xml = f'<labels xmlns="http://mulan.sourceforge.net/labels">{labels}</labels>'
    (folder / f"{ds.name}.xml").write_text(xml)


def small(name, n=120):
    ds = datasets.load("drifting-clusters", n=n, n_initial=60, p=4, K=3)
    return dataclasses.replace(ds, name=name)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A copy of the repository that `fetch` reads from, with a small set called emotions."""
    record = CATALOG["emotions"]
    folder = tmp_path / "far" / record.remote
    folder.mkdir(parents=True)
    ds = small("emotions")
    train, test = (folder / f"emotions-{part}.arff" for part in ("train", "test"))
    write_set(folder, ds, (train, slice(60)), (test, slice(60, None)))
    contents = {file: (folder / file).read_bytes() for file in record.files}
    changed = dataclasses.replace(
        record,
        files={file: hashlib.sha256(content).hexdigest() for file, content in contents.items()},
        sizes={file: len(content) for file, content in contents.items()},
        n=len(ds),
        p=4,
        K=3,
        n_initial=60,
    )
    monkeypatch.setitem(CATALOG, "emotions", changed)
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "far"))
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *words: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=[0.01]).start()
        monkeypatch.setenv("EFCML_MULAN", f"http://127.0.0.1:{server.server_address[1]}")
        yield folder
        server.shutdown()


def put_files(here):
    """Write the files of their own that readers are thought to have."""
    songs = small("songs", 800)
    table = np.hstack([songs.X, songs.Y[:, :2]])
    head = ",".join([*songs.feature_names, "happy", "calm"])
    for name in ("songs.csv", "new.csv"):
        np.savetxt(here / name, table, fmt="%g", delimiter=",", header=head, comments="")
    write_set(here, small("birds"), (here / "birds.arff", slice(None)))


def put_mediamill(here, monkeypatch):
    """Put a small file where the large set is searched."""
    ds = small("mediamill")
    np.savez(here / "mediamill.npz", X=ds.X, Y=ds.Y, n_train=60)
    record = dataclasses.replace(CATALOG["mediamill"], n=len(ds), p=4, K=3, n_initial=60)
    monkeypatch.setitem(CATALOG, "mediamill", record)


# Compiled only: whole streams.
@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_commands_run(page, server, tmp_path, monkeypatch, capsys):
    here, cache = tmp_path / "here", tmp_path / "cache"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr(catalog, "searched_folders", lambda: [cache / "efcml"])
    commands = commands_of(page)
    put_files(here)
    (cache / "efcml").mkdir(parents=True)
    put_mediamill(cache / "efcml", monkeypatch)
    if not any("fetch" in words for words in commands):
        shutil.copytree(server, cache / "efcml", dirs_exist_ok=True)
    # What takes longest; commands that show their output draw, in test_docs.py.
    monkeypatch.setattr(outcome, "write_pictures", lambda *given: [])
    monkeypatch.setattr(study_page, "draw_all", lambda *given: {})
    for program, *arguments in commands:
        line = shlex.join([program, *arguments])
        if program == "make":
            done = subprocess.run(
                ["make", "-n", "-C", str(ROOT), *arguments], capture_output=True, check=False
            )
            assert done.returncode == 0, line
        if program in ELSEWHERE:
            continue
        assert program == "efcml", f"{line}: neither run nor in the list of exceptions"
        if arguments[0] in LONG:
            build_parser().parse_args(arguments)
            continue
        code = main([*arguments, *SHORT.get(arguments[0], [])])
        captured = capsys.readouterr()
        assert code == 0, (line, captured.err)
        assert captured.out


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("```bash\nrm -r runs\n```\n", "neither run nor in the list"),
        ("```bash\nmake nothing\n```\n", "make nothing"),
        ("```bash\nefcml predict nowhere.npz new.csv\n```\n", "nowhere.npz"),
    ],
)
def test_wrong_commands_would_be_seen(text, match, server, tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(AssertionError, match=match):
        test_commands_run(page, server, tmp_path, monkeypatch, capsys)
