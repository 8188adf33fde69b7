"""Files that are broken or lie: refused with a sentence, quickly, and without large allocations.

Two kinds of files are made here. Broken ones have bytes that are not as written. Lying ones are
whole, with the right checksums, and say something else than the truth; a lie that nobody could
notice may be loaded, and then the model has to work.
"""

import io
import json
import os
import pickle
import re
import time
import tracemalloc
import warnings
import zipfile
import zlib
from contextlib import suppress
from copy import deepcopy

import numpy as np
import pytest
from helpers.amounts import amount
from helpers.models import EVERYTHING, QUICK, hide, stream
from test_saving import open_questions

from efcml import ActiveLearner, ChainEFC, EFCMLClassifier, OneVsRestEFC, load, save
from efcml.model.rulebase import RuleBase
from efcml.saving import archive, nest, pack, take, write_archive
from efcml.saving.layout import Member, directory, npy_head, opening

MOST_SECONDS = 1.0
MEMORY_PER_BYTE, MEMORY_BESIDES = 20, 2**20  # of the file; for a header, Python takes most
SWAP = bytes.maketrans(b"()", b")(")
LIES = amount(2, 99)  # about every fact of a model; which of them, takes turns
HUGE = (2**40, 10**18, 1e300)  # who believes them asks for memory
EXECUTED = []  # what a pickled payload would change


def make_models():
    X, Y = stream()
    named = hide(Y)[:, :2]
    return {
        "fitted": EFCMLClassifier(**EVERYTHING).fit(X, hide(Y)),
        "whole rows": EFCMLClassifier(**EVERYTHING).fit(X, Y),
        "warm-up": EFCMLClassifier(**QUICK).partial_fit(X[:5], named[:5]),
        "classes": EFCMLClassifier(**QUICK).fit(X, np.where(Y[:, 0], "yes", "no")),
        "rest": OneVsRestEFC(**QUICK).fit(X, Y[:, :2]),
        "chain": ChainEFC(**QUICK, order=[1, 0]).fit(X, Y[:, :2]),
        "active": open_questions()[1],
        "new": EFCMLClassifier(),
    }


@pytest.fixture(scope="module")
def models():
    return make_models()


@pytest.fixture(scope="module")
def files(models, tmp_path_factory):
    """The bytes of one good file per model."""
    path = tmp_path_factory.mktemp("good") / "model.npz"
    found = {}
    for name, model in models.items():
        save(model, path)
        found[name] = path.read_bytes()
    return found


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


def try_to_load(path, memory_per_byte=MEMORY_PER_BYTE, *, counts_memory=True):
    """Return the model of a file, or the reason why there is none, within bounds."""
    begin = time.process_time()
    found = load_or_reason(path)
    assert time.process_time() - begin < MOST_SECONDS
    if counts_memory and isinstance(found, str):  # once more: counting allocations takes time
        tracemalloc.start()
        load_or_reason(path)
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert memory < MEMORY_BESIDES + memory_per_byte * os.path.getsize(path)
    assert EXECUTED == []
    return found


def load_or_reason(path):
    try:
        return load(path)
    except ValueError as error:
        return str(error)


def assert_refused(path, contents, reason="", **bounds):
    path.write_bytes(contents)
    found = try_to_load(path, **bounds)
    assert isinstance(found, str), f"a file was loaded that should be refused: {reason}"
    assert found.startswith(f"{path} cannot be loaded: ")
    assert found.count("\n") == 0 and found.endswith(".") and len(found) < 500
    assert reason in found
    return found


# -- broken bytes -----------------------------------------------------------------------------


def test_truncated_files_are_refused(files, path, rng):
    """60 files, in a soak 180."""
    for contents in (files["fitted"], files["active"], files["new"]):
        ends = {0, 1, 21, 22, 60, 61, 62, len(contents) - 1, len(contents) - 22, len(contents) - 98}
        while len(ends) < amount(20, 60):
            ends.add(int(rng.integers(len(contents))))
        for end in ends:
            assert_refused(path, contents[:end])


def test_every_flipped_bit_is_noticed(files, path, rng):
    """180 files, in a soak 600; a third of the bits lie in what is no data."""
    inside, outside = amount((40, 10), (130, 35))
    for contents in (files["fitted"], files["chain"], files["active"]):
        data = bytearray(contents)
        first, last = (rng.integers(400, size=outside) for _ in range(2))
        for at in [*rng.integers(len(data), size=inside), *first, *(len(data) - 1 - last)]:
            data[at] ^= 1 << rng.integers(8)
            assert_refused(path, data)
            data[:] = contents


def test_bytes_too_many_are_refused(files, path):
    contents = files["fitted"]
    for more in (b"\0", contents, b"PK\5\6" + b"\0" * 18):
        assert_refused(path, contents + more, "its header asks for")
        assert_refused(path, more + contents)
    middle = len(contents) // 2
    assert_refused(path, contents[:middle] + b"\0" + contents[middle:], "its header asks for")


def execute(word):
    EXECUTED.append(word)


class Payload:
    """Does something when it is unpickled."""

    def __reduce__(self):
        return execute, ("executed",)


def foreign_files():
    yield b""
    yield b"not a model"
    yield b"PK\5\6" + b"\0" * 18  # an empty zip
    yield pickle.dumps(Payload())
    yield b"\x89PNG\r\n\x1a\n" + b"\0" * 100
    yield b"\x93NUMPY" + b"\0" * 100
    file = io.BytesIO()
    np.savez(file, W=np.zeros(3))
    yield file.getvalue()
    file = io.BytesIO()
    np.savez(file, W=np.array([Payload()], dtype=object))
    yield file.getvalue()
    yield bytes(2**20)


def test_foreign_files_are_refused(path):
    for contents in foreign_files():
        assert_refused(path, contents)
    pickle.loads(pickle.dumps(Payload()))  # the payload would have done something
    assert EXECUTED.pop() == "executed"


def test_pipes_are_refused(path):
    os.mkfifo(path)
    with pytest.raises(ValueError, match="it is no file"):
        load(path)


# -- other zips of the same members -----------------------------------------------------------


def members_of(contents):
    with zipfile.ZipFile(io.BytesIO(contents)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(members, compression=zipfile.ZIP_STORED, **options):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as zip_file:
        for name, data in members:
            zip_file.writestr(zipfile.ZipInfo(name), data, compression)
        zip_file.comment = options.get("comment", b"")
    return file.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_other_zips_are_refused(files, path):
    members = members_of(files["fitted"])
    parts = [*members.items()]
    bomb = bytes(2**26)
    for changed in (
        parts,
        parts[::-1],
        parts[1:],
        parts[:-1],
        [*parts, parts[-1]],
        [parts[0], *parts],
        [*parts, ("../evil.npy", b"x")],
        [*parts, ("/etc/evil.npy", b"x")],
        [*parts, ("C:\\evil.npy", b"x")],
        [*parts, ("bomb.npy", bomb)],
        [("header.json", bomb), *parts[1:]],
    ):
        assert_refused(path, zipped(changed, zipfile.ZIP_DEFLATED))
        if not any(data is bomb for _, data in changed):
            assert_refused(path, zipped(changed))
    assert_refused(path, zipped(parts, comment=b"hello"))
    assert_refused(path, zipped(parts, zipfile.ZIP_LZMA))


def assemble(parts, listed=list, checksum=zlib.crc32):
    """Join members as efcml does: ``{name: bytes}``, with a directory that may list others."""
    members = [Member(name, len(data), checksum(data)) for name, data in parts.items()]
    file = b"".join(opening(one) + parts[one.name] for one in members)
    return file + directory(listed(members))


def test_members_that_do_not_fit_the_header_are_refused(files, path):
    parts = members_of(files["fitted"])
    assert assemble(parts) == files["fitted"]
    names = [*parts]
    W = "learner/rules/W.npy"
    shape = re.search(rb"'shape': (\(.*?\))", parts[W])[1]
    payload = npy_head("|O", (1,)) + pickle.dumps([Payload()])
    for changed in (
        {name: parts[name] for name in names if name != W},
        {name: parts[name] for name in (names[0], *names[:0:-1])},
        {("../W.npy" if name == W else name): parts[name] for name in names},
        parts | {"extra.npy": parts[W]},
        parts | {W: payload},
        parts | {W: payload.ljust(len(parts[W]), b"\0")},
        parts | {W: parts[W].replace(b"<f8", b"<i8")},
        parts | {W: parts[W].replace(b"<f8", b">f8")},
        parts | {W: parts[W].replace(b"False", b"True ")},
        parts | {W: parts[W].replace(b"NUMPY\1", b"NUMPY\2")},
        parts | {W: parts[W].replace(shape, shape[::-1].translate(SWAP))},
        parts | {W: parts[W].replace(b"(", b"(-").replace(b" }", b"}")},
        parts | {W: parts[W][:-8] + bytes(8)},
    ):
        assert [*changed.items()] != [*parts.items()]
        assert_refused(path, assemble(changed))
    for listed in (
        lambda members: members[:-1],
        lambda members: members[::-1],
        lambda members: [members[0]._replace(crc=1), *members[1:]],
        lambda members: [*members[:-1], members[-1]._replace(name="learner/rules/bore.npy")],
    ):
        assert_refused(path, assemble(parts, listed))


def test_checksums_of_the_zip_that_lie_are_refused(files, path):
    parts = members_of(files["fitted"])
    for name, reason in (("header.json", "header"), ("learner/rules/W.npy", "rules/W is damaged")):
        lie = {parts[name]: 12345}
        wrong = assemble(parts, checksum=lambda data, lie=lie: lie.get(data, zlib.crc32(data)))
        assert_refused(path, wrong, reason)


# -- headers ----------------------------------------------------------------------------------


def with_header(parts, text):
    return assemble(parts | {"header.json": text})


def test_headers_that_are_no_plain_json_are_refused(files, path):
    parts = members_of(files["fitted"])
    text = parts["header.json"]
    nothing = b'{"format":"efcml"'
    for changed in (
        b"",
        b"{",
        b"null",
        b"[]",
        b'"efcml"',
        b"{}",
        nothing + b"}",
        text + b" ",
        b" " + text,
        text.replace(b":", b": ", 1),
        text.replace(b'"alpha":0.01', b'"alpha":NaN'),
        text.replace(b'"alpha":0.01', b'"alpha":Infinity'),
        text.replace(b'"alpha":0.01', b'"alpha":1e999'),
        text.replace(b'"alpha":0.01', b'"alpha":0.010'),
        text.replace(b'"alpha":0.01', b'"alpha":0.01,"alpha":0.01'),
        text.replace(b'"alpha":0.01', b'"alpha":' + b"9" * 5000),
        text.replace(b'"alpha":0.01', b'"alpha":' + b"9" * 41),
        text.replace(b'"efcml"', b'"\xff\xfe"'),
        text.replace(b'"efcml"', b'"efcm\\u006c"'),
        text.decode().encode("utf-16"),
        b"[" * 100_000 + b"]" * 100_000,
        nothing + b',"x":' + b"[" * 900 + b"]" * 900 + b"}",
        nothing + b',"x":' + b'{"x":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
        nothing + b',"x":"' + b"x" * (archive.MOST_HEADER + 1) + b'"}',
    ):
        assert changed != text
        assert_refused(path, with_header(parts, changed))


@pytest.mark.parametrize("part", [b"[]", b"0", b'""', b"0.5", b'"\\ud800"', b'{"":0}'])
def test_the_longest_headers_are_refused_in_time(part, files, path):
    start = b'{"format":"efcml","format_version":2,"x":['
    count = (archive.MOST_HEADER - 100) // (len(part) + 1)
    text = start + b",".join([part] * count) + b"]}"
    reason = "too many parts" if part[:1] in b"[{" else "the header must say"
    assert_refused(path, with_header(members_of(files["new"]), text), reason, memory_per_byte=60)
    few = archive.MOST_BRACKETS - 3
    text = start + b",".join([part] * min(count, few)) + b"]}"
    assert_refused(path, with_header(members_of(files["new"]), text), memory_per_byte=100)


def test_lengths_of_the_header_that_lie_are_refused(files, path):
    contents = files["new"]
    for length in (0, 1, 2**21 + 1, 2**31, 2**40, 2**63, 2**64 - 1):
        start = opening(Member("header.json", length, 0))
        assert_refused(path, start + contents[len(start) :])


def test_newer_formats_ask_for_a_newer_efcml(files, path):
    parts = members_of(files["fitted"])
    header = json.loads(parts["header.json"])
    newer = header | {"format_version": 4, "compression": "none"}
    for text in (archive.to_json(newer), json.dumps(newer).encode()):
        found = assert_refused(path, with_header(parts, text), "upgrade efcml")
        assert "format 4, here 3" in found
    for version in (0, -1, True, 1.0, "1", None, [2], {}):
        text = archive.to_json(header | {"format_version": version})
        assert_refused(path, with_header(parts, text))


def test_frames_of_headers_that_lie_are_refused(files, path):
    parts = members_of(files["fitted"])
    header = json.loads(parts["header.json"])
    for name in header:
        without = {key: header[key] for key in header if key != name}
        assert_refused(path, with_header(parts, archive.to_json(without)))
        for value in (None, 4, "x", [], {}, ["x"], [["x", "<f8", [1]]], {"class": []}, True):
            if (name, value) != ("efcml_version", "x"):
                assert_refused(path, with_header(parts, archive.to_json(header | {name: value})))
    # The hash covers also what nobody looks at.
    text = archive.to_json(header | {"efcml_version": "9.9.9"})
    assert_refused(path, with_header(parts, text), "sha256")


def test_tables_of_arrays_that_lie_are_refused(models, files, path):
    """With the right hash, and members that are as they must be."""
    parts = members_of(files["fitted"])
    _, arrays = pack(models["fitted"])
    header = json.loads(parts["header.json"])
    table = header["arrays"]
    for lie in (table[1:], table[::-1], [["x", *table[0][1:]], *table[1:]], [*table, table[0]]):
        header["arrays"] = lie
        header["sha256"] = archive.content_hash(header, arrays.values())
        contents = with_header(parts, archive.to_json(header))
        assert_refused(path, contents, "its table of arrays does not fit")


# -- whole files that lie ---------------------------------------------------------------------


def places(value, at=()):
    """Yield where every value of nested JSON stands."""
    if at:
        yield at
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*at, key))


def replaced(value, at, new):
    changed = deepcopy(value)
    inner = changed
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = new
    return changed


def lies_about(value):
    """Return other values for one in the header."""
    lies = [None, "x", "", [], {}, -1, 2**40, 10**18, 0.5, [0], {"class": "EFCMLClassifier"}]
    if type(value) in (int, float):
        lies += [value + 1, value - 1, -value, 1e300, True]
    return [lie for lie in lies if type(lie) is not type(value) or lie != value]


def write_lie(path, content, arrays):
    write_archive(path, {"kind": "model", "content": content}, arrays)


def assert_harmless(model):
    """A lie that went through must not break anything."""
    if isinstance(model, ActiveLearner):
        X, Y = stream(8)
        clf = EFCMLClassifier(**QUICK).fit(X, Y)
        model.ask(clf, X[0])
        model.to_frame()
    elif not hasattr(model, "learner_"):
        repr(model)
    else:
        K = 1 if model._binary else len(model.classes_)
        X = stream(4, model.n_features_in_)[0]
        assert model.predict(X).shape == ((4,) if model._binary else (4, K))
        if model.learner_.params.n_steps < 100:  # what is asked for may take long
            # Parameters may be out of reason, as those that a user can set.
            with warnings.catch_warnings(), suppress(np.linalg.LinAlgError):
                warnings.simplefilter("ignore", RuntimeWarning)
                model.learner_.learn(X[:2], np.eye(2, K))


@pytest.mark.parametrize(
    "name",
    [
        *("warm-up", "active", "new"),
        # The models that are loaded learn, which takes long uncompiled.
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("fitted", "classes", "chain")),
    ],
)
def test_facts_that_lie_are_refused_or_harmless(name, models, path, monkeypatch):
    """Some 50 to 150 files for every model, in a soak many times as many, most of them refused."""
    monkeypatch.setattr(os, "fsync", lambda file: None)  # these files need not last
    content, arrays = pack(models[name])
    content = json.loads(archive.to_json(content))
    refused, loaded = 0, []
    some = LIES // 2 if name == "chain" else LIES  # there are the facts of two learners
    for turn, at in enumerate(places(content)):
        inner = content
        for key in at:
            inner = inner[key]
        lies = lies_about(inner)
        begin = some * turn % len(lies)
        for lie in [*lies[begin:], *lies[:begin]][:some]:
            write_lie(path, replaced(content, at, lie), arrays)
            found = try_to_load(path, counts_memory=amount(lie in HUGE, True))
            if isinstance(found, str):
                refused += 1
            else:
                loaded.append((at, lie))
                assert_harmless(found)
        if isinstance(inner, dict):
            write_lie(path, replaced(content, at, inner | {"more": 1}), arrays)
            assert isinstance(try_to_load(path, counts_memory=False), str)
    assert refused > (20 if name == "new" else 250) * min(LIES, 16) // 16
    sizes = {"n_features", "n_labels", "n_rules", "n_groups", "n_pairs", "n_held", "n_open"}
    assert not [(at, lie) for at, lie in loaded if at[-1] in sizes | {"class"} and arrays]


def test_sizes_of_terabytes_are_refused_at_once(models, path):
    content, arrays = pack(models["whole rows"])
    for n in (10**6, 10**12, 2**52):
        for name in ("n_rules", "n_features", "n_labels"):
            lie = deepcopy(content)
            lie["params"]["max_rules"] = lie["fitted"]["learner"]["params"]["max_rules"] = 2**60
            lie["fitted"]["learner"]["rules"][name] = n
            if name != "n_rules":
                lie["fitted"]["learner"][name] = n
            path_of_lie(path, lie, arrays)
            found = try_to_load(path)
            reasons = ("its header asks for", "the learner says")
            assert any(reason in found for reason in reasons), found


def path_of_lie(path, content, arrays):
    """Write a file whose table of arrays says what its facts ask for; the data are missing."""
    from efcml.saving import expected

    write_lie(path, content, arrays)
    parts = members_of(path.read_bytes())
    header = json.loads(parts["header.json"])
    try:
        table = expected(content)
        header["arrays"] = [[name, dtype, list(shape)] for name, (dtype, shape) in table.items()]
    except ValueError:
        pass
    path.write_bytes(with_header(parts, archive.to_json(header)))


def array_lies(array):
    """Yield arrays of another shape, type or impossible values."""
    yield array[:0]
    yield array[..., :-1]
    yield array[None]
    yield array.reshape(-1)
    yield np.concatenate([array, array])
    yield np.zeros(array.shape, dtype=np.float64 if array.dtype.kind != "f" else np.int64)
    if array.dtype.kind == "f":
        yield array * np.nan
        yield np.where(np.arange(array.size).reshape(array.shape) == array.size - 1, np.inf, array)
    elif array.dtype == np.int64:
        yield np.full_like(array, -1)
        yield np.full_like(array, 2**62)


@pytest.mark.parametrize("name", ["fitted", "warm-up", "active"])
def test_arrays_that_lie_are_refused(name, models, path):
    """Some 400 files."""
    content, arrays = pack(models[name])
    refused = 0
    for key, array in arrays.items():
        others = {one: arrays[one] for one in arrays if one != key}
        for lie in [None, *(array_lies(array) if array.size else [array[None]])]:
            if lie is not None and lie.shape == array.shape and np.array_equal(lie, array):
                continue
            if key == "open/x" and lie is not None and np.isnan(lie).all():
                continue  # features may be missing
            write_lie(path, content, others if lie is None else arrays | {key: lie})
            found = try_to_load(path, counts_memory=refused % 5 == 0)
            assert isinstance(found, str), (key, lie)
            refused += 1
    assert refused > 6 * sum(1 for array in arrays.values() if array.size)


def negative(array):
    return -array


def lopsided(array):
    changed = array.copy()
    changed[..., 0, -1] += 1.0 + np.abs(array).max()
    return changed


@pytest.mark.parametrize(
    ("name", "key", "change", "reason"),
    [
        ("fitted", "learner/scale", negative, "scale holds numbers that are not above zero"),
        ("fitted", "learner/start_variance", np.zeros_like, "not above zero"),
        ("fitted", "learner/prior_precision", negative, "not above zero"),
        ("fitted", "learner/rules/support", np.zeros_like, "rules/support holds numbers"),
        ("fitted", "learner/rules/joint_precision", negative, "not positive definite"),
        ("fitted", "learner/rules/input_precision", np.zeros_like, "not positive definite"),
        ("fitted", "learner/rules/joint_precision", lopsided, "not symmetric"),
        ("fitted", "learner/rules/P", lopsided, "rules/P is not symmetric"),
        ("fitted", "learner/rules/G", lopsided, "rules/G is not symmetric"),
        ("fitted", "learner/rules/uid", np.zeros_like, "two rules have one uid"),
        ("fitted", "learner/rules/uid", lambda uid: uid + 999, "newer than the next"),
        ("fitted", "learner/rules/updates", negative, "impossible counts"),
        ("warm-up", "learner/held", lambda held: held + 0.5, "held labels are not 0, 1 or NaN"),
        ("chain", "learner/1/rules/support", negative, "not above zero"),
        ("active", "state", negative, "impossible numbers"),
        ("active", "state", lambda state: state + 0.5, "parts of rows"),
        ("active", "open/after", lambda after: after + 0.5, "parts of rows"),
        ("active", "asked/row", lambda row: row[::-1].copy(), "the log are out of order"),
        ("active", "asked/row", lambda row: row + 100, "not asked"),
        ("active", "open/row", lambda row: row[::-1].copy(), "open are out of order"),
        ("active", "expired", lambda row: row + 1000, "expired has rows that were not asked"),
        ("active", "asked/reasons", np.zeros_like, "unknown reasons"),
        ("active", "open/reasons", lambda bits: bits + 32, "unknown reasons"),
        ("active", "asked/labels", np.zeros_like, "about nothing"),
    ],
)
def test_impossible_values_are_refused(name, key, change, reason, models, path):
    content, arrays = pack(models[name])
    write_lie(path, content, arrays | {key: change(arrays[key])})
    assert reason in try_to_load(path)


def test_questions_that_contradict_each_other_are_refused(models, path):
    content, arrays = pack(models["active"])
    opened, n = arrays["open/row"], content["active"]["n_expired"]
    expired = np.unique([*arrays["expired"][3:], *opened])
    assert len(expired) == n
    write_lie(path, content, arrays | {"expired": expired})
    assert "open and expired" in try_to_load(path)
    state = arrays["state"].copy()
    state[0] -= 2.0
    write_lie(path, content, arrays | {"state": state})
    assert "did not come yet" in try_to_load(path)


def test_flags_are_0_or_1(files, path):
    parts = members_of(files["active"])
    name = "asked/labels.npy"
    parts[name] = parts[name][:-1] + b"\2"
    assert_refused(path, assemble(parts), "neither 0 nor 1")


@pytest.mark.parametrize(
    "classes",
    [
        {"dtype": "<U999999999", "values": ["no", "yes"]},
        {"dtype": "<U3", "values": ["no", "yes", "maybe"]},
        {"dtype": "<U3", "values": []},
        {"dtype": "<U3", "values": ["yes", "yes"]},
        {"dtype": "<U1", "values": ["no", "yes"]},
        {"dtype": "<U3", "values": [0, 1]},
        {"dtype": "<f1", "values": [0.0, 1.0]},
        {"dtype": "<f2", "values": [0.0, 1e300]},
        {"dtype": "|i1", "values": [0, 300]},
        {"dtype": "<i8", "values": [0, 2**70]},
        {"dtype": "<i8", "values": [True, False]},
        {"dtype": "|O", "values": [{}, []]},
        {"dtype": "|V8", "values": ["a", "b"]},
        {"dtype": "f8,f8", "values": ["a", "b"]},
    ],
)
def test_strange_classes_are_refused(classes, models, path):
    content, arrays = pack(models["classes"])
    write_lie(path, replaced(content, ("fitted", "classes"), classes), arrays)
    assert "the classes must be" in try_to_load(path)


def test_classes_of_several_labels_are_refused(models, path):
    content, arrays = pack(models["fitted"])
    classes = {"dtype": "<U3", "values": ["no", "yes"]}
    write_lie(path, replaced(content, ("fitted", "classes"), classes), arrays)
    assert "one label, not 3" in try_to_load(path)


def test_rows_of_a_warm_up_that_is_over_are_refused(models, path):
    content, arrays = pack(models["warm-up"])
    held = np.repeat(arrays["learner/held"][:1], 12, axis=0)
    content = replaced(content, ("fitted", "learner", "n_held"), 12)
    write_lie(path, content, arrays | {"learner/held": held})
    assert "cannot hold 12 rows" in try_to_load(path)
    content, arrays = pack(models["fitted"])
    content = replaced(content, ("fitted", "learner", "n_held"), 1)
    write_lie(path, content, arrays | {"learner/held": np.zeros((1, 6))})
    assert "cannot hold 1 rows" in try_to_load(path)


@pytest.mark.parametrize(
    ("at", "lie", "reason"),
    [
        (("order",), [0, 0], "must name each once"),
        (("order",), [0, 1, 2], "must name each once"),
        (("order",), [True, False], "must name each once"),
        (("order",), [1.0, 0.0], "must name each once"),
        (("models",), [], "must name each once"),
        (("models", 1), 3, "a model says nothing"),
        (("models", 1, "n_features"), 3, "the rule base says n_features=4"),
        (("n_features",), 4, "model 0 must have 4 features"),
        (("params", "vigilance"), -1.0, "vigilance must be a number > 0"),
    ],
)
def test_chains_that_lie_are_refused(at, lie, reason, models, path):
    content, arrays = pack(models["chain"])
    write_lie(path, replaced(content, ("fitted", "learner", *at), lie), arrays)
    assert reason in try_to_load(path)


def test_rest_and_chain_are_not_confused(models, path):
    content, arrays = pack(models["rest"])
    write_lie(path, content | {"class": "ChainEFC", "params": ChainEFC().get_params()}, arrays)
    assert "model 1 must have 4 features and one label" in try_to_load(path)


def test_a_file_that_gets_shorter_while_it_is_read():
    with pytest.raises(ValueError, match="it ends too early"):
        archive.read_array(io.BytesIO(b"short"), "<f8", (1,))


@pytest.mark.parametrize(
    ("name", "lie"),
    [
        *(("n_groups", n) for n in (0, 2, 4)),
        *(("n_pairs", n) for n in (0, 2)),
        *(("n_rules", n) for n in (0, 5)),  # at most 4 are allowed
        *(("n_features", n) for n in (2, 4)),
        *(("n_labels", n) for n in (2, 4)),
    ],
)
def test_rule_bases_of_impossible_sizes_are_refused(name, lie, models, path):
    """The arrays have the shapes that the sizes ask for; kernels would read beyond their ends."""
    content, arrays = pack(models["fitted"])
    content = replaced(content, ("fitted", "learner", "rules", name), lie)
    shapes = RuleBase.state_shapes(content["fitted"]["learner"]["rules"])
    fields = {key: np.ones(shape, dtype=dtype) for key, (dtype, shape) in shapes.items()}
    write_lie(path, content, arrays | nest(learner=nest(rules=fields)))
    assert f"the rule base says {name}={lie}" in try_to_load(path)


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({"a": True}, int),
        ({"a": True}, range(5)),
        ({"a": 1.0}, range(5)),
        ({"a": 5}, range(5)),
        ({"a": None}, (int, str)),
        ({"a": 1, "b": 1}, int),
        ({"b": 1}, int),
        ({}, int),
        ([], int),
    ],
)
def test_facts_of_another_kind_are_refused(facts, kind):
    with pytest.raises(ValueError, match="the part"):
        take(facts, "the part", a=kind)


@pytest.mark.parametrize(
    ("name", "at", "lie", "reason"),
    [
        ("fitted", ("fitted", "label_names"), ["a", "b"], "label_names must be 3 words"),
        ("fitted", ("fitted", "feature_names"), ["a", "b", 3], "feature_names must be 3 words"),
        ("fitted", ("fitted", "columns"), {}, "the columns must say flags, groups, categories"),
        ("fitted", ("fitted", "columns", "flags"), [3], "must be among 3, each once"),
        ("fitted", ("fitted", "columns", "flags"), [1, 1], "must be among 3, each once"),
        ("fitted", ("fitted", "columns", "flags"), [True], "must be among 3, each once"),
        ("fitted", ("fitted", "columns", "groups"), [["a", [0, 1]], ["b", [1, 2]]], "each once"),
        ("fitted", ("fitted", "columns", "groups"), [["a", [0]]], "two columns or more"),
        ("fitted", ("fitted", "columns", "groups"), [[7, [0, 1]]], "is called 7"),
        ("fitted", ("fitted", "columns", "groups"), [["a"]], "must be pairs"),
        ("fitted", ("fitted", "columns", "categories"), [[0, []]], "must have values, each once"),
        ("fitted", ("fitted", "columns", "categories"), [[0, [[1]]]], "must be words or numbers"),
        ("fitted", ("fitted", "columns", "categories"), [[0, ["a", "a"]]], "values, each once"),
        ("fitted", ("fitted", "columns", "categories"), [[9, ["a"]]], "must be among 3"),
        ("fitted", ("fitted", "columns", "categories"), [[0, list("abcd")]], "must be among 0"),
        ("active", ("active", "open_questions"), 2, "more questions are open than may be"),
        ("active", ("active", "budget"), 1.5, "budget must be"),
        ("active", ("active", "criteria"), [[]], "criteria must be one of"),
        ("active", ("active", "seed"), 2**64, "says seed=18446744073709551616"),
    ],
)
def test_single_facts_that_lie_are_refused(name, at, lie, reason, models, path):
    content, arrays = pack(models[name])
    write_lie(path, replaced(content, at, lie), arrays)
    assert reason in try_to_load(path)
