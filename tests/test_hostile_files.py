"""Checkpoints, ARFF, XML and CSV files that somebody has tampered with.

Every file is read, or refused with a sentence: within a second, with memory in proportion to the
file, and never with another exception than ValueError. Model files are in test_saving_hostile.py.

Budget: half a minute in `make test`, 5 in `make soak`.
"""

import time
import tracemalloc

import numpy as np
import pytest
from helpers.amounts import amount, counted
from helpers.cli_files import csv_text, run_arguments, write_csv
from helpers.mixed_tables import mixed_text, write_mixed

import efcml
from efcml import datasets
from efcml.cli import checkpoint, main, outcome
from efcml.cli import stream_run as stream
from efcml.datasets.arff import read_label_names
from efcml.datasets.file_rows import read_rows

FILES = amount(500, 5000)  # of each kind
MOST_SECONDS = 1.0
MEMORY_PER_BYTE, MEMORY_BESIDES = 200, 2**21

ARFF = b"""@relation songs
% a comment
@attribute tempo numeric
@attribute 'loud, very' real
@attribute key {0,1,2}
@attribute happy {0,1}
@attribute "so \\"calm\\"" {0,1}
@data
120.5,0.25,1,1,0
80,-1e-3,2,0,1
95,.5,0,?,1
"""
XML = b"""<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
  <label name="happy"></label>
  <label name="so &quot;calm&quot;"></label>
</labels>
"""
TOKENS = [
    *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n\n", b",", b",,,", b"'", b'"', b'""', b"\\"),
    *(
        b"{",
        b"}",
        b"{0 1}",
        b"?",
        b"%",
        b"@data",
        b"@attribute",
        b"@relation",
        b"1e999",
        b"-1e-999",
    ),
    *(b"nan", b"inf", b"0x10", b"1_000", b"1e5", b"<", b">", b"</label>", b"<!DOCTYPE a>", b"&a;"),
    *(b"<!ENTITY a 'a'>", b"<![CDATA[", b"<?x?>", b"&#0;", b"&#x110000;", b"xmlns:a='b'"),
    *("\u2028".encode(), "\U0001f600".encode(), b"9" * 400, b"'" * 99, b"{" * 99, b"(" * 99),
]


def mutate(rng, contents):
    """Return the bytes with one to four things changed."""
    data = bytearray(contents)
    for _ in range(rng.integers(1, 5)):
        low = int(rng.integers(len(data) + 1))
        high = min(low + int(rng.integers(1, 30)), len(data))
        kind = rng.integers(6)
        if kind == 0:
            del data[low:high]
        elif kind == 1:
            data[low:low] = data[low:high] * int(rng.integers(1, 40))
        elif kind == 2:
            data[low:low] = TOKENS[rng.integers(len(TOKENS))]
        elif kind == 3:
            data[low:high] = TOKENS[rng.integers(len(TOKENS))]
        elif kind == 4 and low < len(data):
            data[low] ^= 1 << rng.integers(8)
        else:
            data[low:] = rng.bytes(int(rng.integers(20)))
    return bytes(data)


def read_or_reason(read, most_seconds=MOST_SECONDS):
    """Return what was read, or the sentence why it was not; nothing else may come."""
    begin = time.process_time()
    try:
        found = read()
    except ValueError as error:
        found = str(error)
        assert "\n" not in found
        assert 0 < len(found) < 1000
    assert time.process_time() - begin < most_seconds
    return found


def within_memory(read, size):
    """Do the same once more and look at the memory."""
    tracemalloc.start()
    try:
        read_or_reason(read, np.inf)  # to count memory takes several times as long
        memory = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert memory < MEMORY_BESIDES + MEMORY_PER_BYTE * size


def check_files(name, contents, path, read, rng):
    with counted(f"hostile files: {name}") as figures:
        refused = 0
        for number in range(FILES):
            data = mutate(rng, contents)
            path.write_bytes(data)
            found = read_or_reason(read)
            refused += isinstance(found, str)
            if number % 10 == 0:
                within_memory(read, len(data))
            if isinstance(found, datasets.Dataset):
                assert not np.isinf(found.X).any()  # NaN is a feature that is missing
                assert (np.isnan(found.Y) | np.isin(found.Y, (0.0, 1.0))).all()
        figures |= {"files": FILES, "refused": refused}
    assert FILES > refused > 0.3 * FILES


@pytest.fixture
def mulan(tmp_path):
    (tmp_path / "songs.arff").write_bytes(ARFF)
    (tmp_path / "songs.xml").write_bytes(XML)
    return tmp_path / "songs.arff", tmp_path / "songs.xml"


def test_the_files_are_good_before(mulan, tmp_path):
    ds = datasets.from_arff(*mulan)
    assert (ds.X.shape, ds.Y.shape) == ((3, 3), (3, 2))
    assert read_label_names(mulan[1]) == ["happy", 'so "calm"']


def test_arff(mulan, rng):
    check_files("ARFF", ARFF, mulan[0], lambda: datasets.from_arff(*mulan), rng)


def test_xml(mulan, rng):
    check_files("XML", XML, mulan[1], lambda: datasets.from_arff(*mulan), rng)


def test_csv(tmp_path, rng):
    path = tmp_path / "songs.csv"
    contents = csv_text(12).encode()
    check_files("CSV", contents, path, lambda: datasets.from_csv(path, 2, n_initial=3), rng)


def test_mixed_csv(tmp_path, rng):
    path = tmp_path / "plays.csv"
    contents = mixed_text(12).encode()
    check_files("mixed CSV", contents, path, lambda: datasets.from_csv(path, 2, n_initial=3), rng)


def test_mixed_rows_to_predict(tmp_path, rng):
    path = write_mixed(tmp_path, 12)
    table = datasets.from_csv(path, 2, n_initial=12).table
    check_files("mixed rows", path.read_bytes(), path, lambda: table.encode(path), rng)


def test_rows_to_predict(tmp_path, rng):
    path = tmp_path / "songs.csv"
    names = ["tempo", "loud, very"]
    check_files("rows", csv_text(12).encode(), path, lambda: read_rows(path, names), rng)


LAUGHS = "".join(f"<!ENTITY a{i + 1} '{10 * f'&a{i};'}'>" for i in range(11))
BOMBS = {
    "billion laughs": f'<!DOCTYPE l [<!ENTITY a0 "ha">{LAUGHS}]><l><label name="&a11;"/></l>',
    "blow-up": f'<!DOCTYPE l [<!ENTITY a "{"x" * 10**5}">]><l>{"&a;" * 10**4}</l>',
    "files": '<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]><l><label name="&a;"/></l>',
    "net": '<!DOCTYPE l SYSTEM "http://127.0.0.1:9/x.dtd"><l><label name="a"/></l>',
    "parameters": '<!DOCTYPE l [<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;]><l/>',
    "unknown": '<l><label name="&a;"/></l>',
    "deep": "<a>" * 20_000 + "</a>" * 20_000,
    "attributes": "<l " + " ".join(f"a{i}='1'" for i in range(10**4)) + "/>",
    "the same": '<l><label name="a" name="a"/></l>',
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1", "utf-8-sig"])
@pytest.mark.parametrize("name", BOMBS)
def test_xml_bombs(name, encoding, tmp_path):
    path = tmp_path / "labels.xml"
    path.write_bytes(BOMBS[name].encode(encoding))
    for head in ("", f'<?xml version="1.0" encoding="{encoding}"?>'):
        path.write_bytes((head + BOMBS[name]).encode(encoding))

        def read():
            return read_label_names(path)

        assert isinstance(read_or_reason(read), str)
        within_memory(read, path.stat().st_size)


MANY = 30_000
LARGE = {
    "attributes.arff": "@relation a\n" + "".join(f"@attribute a{i} real\n" for i in range(MANY)),
    "twice.arff": "@relation a\n" + "@attribute a real\n" * MANY,
    "values.arff": "@relation a\n@attribute a {" + ",".join(map(str, range(MANY))) + "}\n@data\nx",
    "quotes.arff": "@relation a\n@attribute '" + "\\'" * MANY,
    "digits.arff": "@relation a\n@attribute a real\n@data\n" + "9" * 10**6 + "x",
    "commas.arff": "@relation a\n@attribute a real\n@data\n" + "," * 10**6,
    "columns.csv": ",".join(f"a{i}" for i in range(MANY)) + "\n1",
    "twice.csv": ",".join([*(f"a{i}" for i in range(MANY)), "last", "last"]) + "\n1",
    "digits.csv": "a,b\n" + "9" * 10**5 + "x,1",
    "field.csv": "a,b\n" + "9" * 10**6 + ",1",
    "open.csv": 'a,b\n"' + "x\n" * 10**5,
    "quotes.csv": "a,b\n" + '"' * 10**5,
    "labels.xml": "<l>" + "".join(f'<label name="a{i}"/>' for i in range(MANY)) + "<label/></l>",
}


@pytest.mark.parametrize("name", LARGE)
def test_large_files_are_refused_in_time(name, tmp_path):
    path = tmp_path / name
    path.write_text(LARGE[name])
    read = {"arff": read_rows, "csv": lambda p: datasets.from_csv(p, 1), "xml": read_label_names}
    assert isinstance(read_or_reason(lambda: read[name.rpartition(".")[2]](path)), str)


def test_a_good_wide_file_is_read_in_time(tmp_path):
    (tmp_path / "a.arff").write_text(LARGE["attributes.arff"] + "@data\n" + "1," * (MANY - 1) + "1")
    labels = "".join(f'<label name="a{i}"/>' for i in range(MANY // 2))
    (tmp_path / "a.xml").write_text(f"<l>{labels}</l>")
    ds = read_or_reason(lambda: datasets.from_arff(tmp_path / "a.arff", tmp_path / "a.xml"))
    assert ds.X.shape == ds.Y.shape == (1, MANY // 2)


def test_checkpoints(tmp_path, monkeypatch, capsys, rng):
    monkeypatch.setattr(outcome, "write_pictures", lambda *arguments: [])
    songs, path = write_csv(tmp_path), tmp_path / "c.npz"
    options = ["--budget", "0.4", "--checkpoint", path, "--out", tmp_path / "out"]
    assert main(run_arguments(songs, *options)) == 0
    contents = path.read_bytes()
    ds = datasets.from_csv(songs, 2, n_initial=24)
    model = efcml.EFCMLClassifier(prior=1.0, max_rules=3, vigilance=0.3, random_state=0)
    active = efcml.ActiveLearner(0.4, random_state=0)
    run = stream.StreamRun(model, active, *ds.stream, learn=True)
    kept = checkpoint.Checkpoint(path, run, ds)
    assert kept.take_up()
    run = kept.run = stream.StreamRun(model, active, *ds.stream, learn=True)
    with counted("hostile files: checkpoints") as figures:
        for number in range(FILES):
            data = mutate(rng, contents)
            if data == contents:
                continue
            path.write_bytes(data)
            assert isinstance(read_or_reason(kept.take_up), str)
            assert (run.model, run.active, run.done) == (model, active, 0)
            if number % 10 == 0:
                within_memory(kept.take_up, len(data))
        figures |= {"files": FILES, "refused": FILES}
