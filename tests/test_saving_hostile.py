"""Files that are broken or lie are refused with a sentence, and nothing in them is executed.

Broken ones have other bytes than were written; lying ones are whole, and say what is not true.
"""

import io
import json
import os
import pickle
import zipfile
import zlib
from copy import deepcopy

import numpy as np
import pytest
from helpers.mixed_tables import LABELS, write_mixed
from helpers.models import QUICK, hide, open_questions, stream

from efcml import ChainEFC, EFCMLClassifier, OneVsRestEFC, datasets, load
from efcml.saving import archive, pack, write_archive
from efcml.saving.layout import Member, directory, npy_head, opening

EXECUTED = []  # what a pickled payload would change
W = "learner/rules/W.npy"
FIT = "its table of arrays does not fit its sizes"


@pytest.fixture(autouse=True)
def no_sync(monkeypatch):
    """These files need not last."""
    monkeypatch.setattr(os, "fsync", lambda file: None)


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """Facts and arrays of a model of every kind."""
    X, Y = stream()
    quick = QUICK | {"cases": 7}
    ds = datasets.from_csv(write_mixed(tmp_path_factory.mktemp("t"), 60), LABELS, n_initial=60)
    found = {"table": pack(EFCMLClassifier(**quick).fit(*ds.frames()[0]), ds.table)}
    for name, model in {
        "fitted": EFCMLClassifier(**quick).fit(X, hide(Y)),
        "warm": EFCMLClassifier(**quick).partial_fit(X[:5], hide(Y)[:5]),
        "classes": EFCMLClassifier(**quick).fit(X, np.where(Y[:, 0], "yes", "no")),
        "chain": ChainEFC(**quick, order=[1, 0]).fit(X, Y[:, :2]),
        "rest": OneVsRestEFC(**quick).fit(X, Y[:, :2]),
        "active": open_questions()[1],
        "new": EFCMLClassifier(),
    }.items():
        found[name] = pack(model)
    found["rest"][0]["params"]["order"] = None  # what a chain has
    return {name: (json.loads(archive.to_json(facts)), a) for name, (facts, a) in found.items()}


@pytest.fixture(scope="module")
def good(states, tmp_path_factory):
    """The bytes of a file."""
    path = tmp_path_factory.mktemp("good") / "model.npz"
    write_lie(path, *states["fitted"])
    load(path)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


def write_lie(path, content, arrays):
    write_archive(path, {"kind": "model", "content": content}, arrays)


def reason_of(path):
    """Return why a file is refused, in one line."""
    with pytest.raises(ValueError) as caught:
        load(path)
    assert EXECUTED == []
    reason = str(caught.value)
    assert reason.startswith(f"{path} cannot be loaded: ") and reason.endswith(".")
    assert reason.count("\n") == 0 and len(reason) < 500
    return reason


def assert_refused(path, contents, reason=""):
    path.write_bytes(contents)
    assert reason in reason_of(path)


def execute(word):
    EXECUTED.append(word)


class Payload:
    """Does something when it is unpickled."""

    def __reduce__(self):
        return execute, ("executed",)


def numpy_file(array):
    file = io.BytesIO()
    np.savez(file, W=array)
    return file.getvalue()


def test_foreign_files_are_refused(path):
    assert_refused(path, b"PK\5\6" + b"\0" * 18, "it ends too early")
    payload = numpy_file(np.array([Payload()], dtype=object))
    for contents in (bytes(2**16), numpy_file(np.zeros(3)), payload):
        assert_refused(path, contents, "it was not written by efcml")


def test_a_pipe_or_a_checkpoint_is_no_model(path, tmp_path):
    os.mkfifo(path)
    assert "it is no file" in reason_of(path)
    write_archive(tmp_path / "c", {"kind": "checkpoint", "content": {}}, {})
    assert "it holds a checkpoint, not a model" in reason_of(tmp_path / "c")


@pytest.mark.parametrize("count", [20, pytest.param(5000, marks=pytest.mark.long)])
def test_truncated_and_changed_files_are_refused(count, good, path, rng):
    n = len(good)
    for end in (1, 60, 61, 62, n // 2, n - 98, n - 22, n - 1):
        assert_refused(path, good[:end])
    for more in (good + b"\0", good + good, good[: n // 2] + b"\0" + good[n // 2 :]):
        assert_refused(path, more, "its header asks for")
    for at in [*rng.integers(n, size=count), *range(0, 60, 4), *range(-98, 0, 7)]:
        data = bytearray(good)
        data[at] ^= 1 << rng.integers(8)
        assert_refused(path, data)


def members_of(contents):
    with zipfile.ZipFile(io.BytesIO(contents)) as file:
        return {name: file.read(name) for name in file.namelist()}


def assemble(parts, listed=list, checksum=zlib.crc32):
    """Join members as efcml does: ``{name: bytes}``, with a directory that may list others."""
    members = [Member(name, len(data), checksum(data)) for name, data in parts.items()]
    file = b"".join(opening(one) + parts[one.name] for one in members)
    return file + directory(listed(members))


def test_members_that_do_not_fit_the_header_are_refused(good, path):
    parts = members_of(good)
    assert assemble(parts) == good
    payload = (npy_head("|O", (1,)) + pickle.dumps([Payload()])).ljust(len(parts[W]), b"\0")
    for changed in (
        {name: parts[name] for name in parts if name != W},
        {("../W.npy" if name == W else name): parts[name] for name in parts},
        parts | {W: payload},
        parts | {W: parts[W].replace(b"<f8", b"<i8")},
        parts | {W: parts[W][:-8] + bytes(8)},  # with the right checksum: sha256 notices
    ):
        assert_refused(path, assemble(changed))
    assert_refused(path, assemble(parts, lambda members: members[::-1]), "its directory is not")
    for name, reason in (("header.json", "its header is damaged"), (W, "rules/W is damaged")):
        lie = {parts[name]: 12345}
        wrong = assemble(parts, checksum=lambda data, lie=lie: lie.get(data, zlib.crc32(data)))
        assert_refused(path, wrong, reason)


def test_headers_that_efcml_does_not_write_are_refused(good, path):
    parts = members_of(good)
    text = parts["header.json"]
    header, alpha = json.loads(text), b'"alpha":0.0'

    def saying(**facts):
        return archive.to_json(header | facts)

    for reason, *texts in (
        ("is no JSON", b"", b"{", text.replace(b'"efcml"', b'"\xff"'), b"[" * 10**5 + b"]" * 10**5),
        ("is no JSON", text.replace(alpha, b'"alpha":NaN')),
        ("not one of efcml", b"[]", b"{}", text + b" ", text.replace(alpha, alpha + b"0")),
        ("not one of efcml", text.replace(alpha, alpha + b"," + alpha)),
        ("not one of efcml", *(saying(format_version=v) for v in (0, True, 3.0, "3", None))),
        ("a newer efcml wrote it (format 4, here 3)", saying(format_version=4, compression="none")),
        ("too many parts", b"[" + b"[]," * 2**17 + b"[]]"),
        ("is too long", b'"' + b"x" * (archive.MOST_HEADER + 1) + b'"'),
        ("sha256", saying(efcml_version="9.9.9")),
        ("table of arrays", saying(arrays=header["arrays"][1:])),
        ("the header says", saying(kind=4), saying(sha256=4), saying(arrays=""), saying(content=4)),
        ("the header must say", saying(more=1)),
    ):
        for changed in texts:
            assert changed != text
            assert_refused(path, assemble(parts | {"header.json": changed}), reason)
    start = opening(Member("header.json", 2**64 - 1, 0))
    assert_refused(path, start + good[len(start) :], "is too long")


def negative(array):
    return -array


def lopsided(array):
    changed = array.copy()
    changed[..., 0, -1] += 1.0 + np.abs(array).max()
    return changed


def at(place, value):
    """Return a change of one entry."""

    def change(array):
        changed = array.copy()
        changed.flat[place] = value
        return changed

    return change


def expire_open(arrays):
    return {"expired": np.unique([*arrays["expired"][3:], *arrays["open/row"]])}


def classes(dtype, *values):
    return {"dtype": dtype, "values": list(values)}


def same_uid(arrays):
    return {f"learner/{part}/uid": 0 * arrays["learner/rules/uid"] for part in ("rules", "brief")}


# By what becomes of arrays of a fitted model's learner.
ARRAYS = [
    (negative, "scale rules/joint_precision cases/kernel cases/covariance"),
    (negative, "labels/together/covariance labels/together/precision labels/together/form"),
    (lopsided, "rules/joint_precision rules/input_precision rules/P rules/G brief/P brief/G"),
    (lopsided, "cases/kernel cases/inverse cases/covariance sequel/link_covariance"),
    (lopsided, "labels/together/covariance labels/together/precision labels/together/form"),
    (at(0, 0.0), "scale start_variance prior_precision rules/support sequel/link_start"),
    (at(0, 0.0), "labels/together/variance sequel/ago sequel/link_covariance"),
    (at(0, -1.0), "sequel/tally sequel/losses sequel/waiting sequel/seen labels/together/rows"),
    (at(0, -1.0), "labels/thresholds/hits rules/updates"),
    (at(0, np.inf), "follow/rows mean rules/W cases/weights sequel/errors brief/W"),
    (at(-1, 1.0), "follow/rows follow/labels follow/weights"),
    (at(-1, 0.5), "follow/labels"),
    (at(-1, 1e6), "labels/thresholds/hits sequel/ones"),
    (at(-1, 2**53), "rules/updates sequel/ago"),
    (np.zeros_like, "rules/input_precision cases/count"),
    (lambda array: array[::-1], "brief/uid labels/together/count"),
    (lambda count: count[[1, 1]], "labels/together/count"),
    (lambda count: count + 1, "recent/count follow/count"),
    (at(0, 2), "follow/count"),
    (at(1, 1), "follow/count"),
    (lambda count: count + [1, 40, 0, 0, 0], "follow/count"),
]
# By place in the facts: a reason, and lies.
LEARNER = {
    "n_features": ("the learner says n_features=", 2**20, 0, True),
    "rows_seen": ("the learner says rows_seen=", -1, 2**53),
    "params.vigilance": ("vigilance must be a number > 0", -1.0),
    "counts.births": ("the counts says births=-1", -1),
    "n_held": ("cannot hold 1 rows", 1),
    "split_share": ("split_share must be a share", None, 0.0, 1.5),
    **dict.fromkeys(("shared", "renewal"), ("", 1.0, 1)),
    "evidence": ("the evidence of", [0.0] * 7, [0] * 8, [0.0] * 7 + [-1.0]),
    "n_cases": ("cannot have 8 cases", 8),
    "n_recent": ("cannot have 1000000 recent cases", 10**6),
    "rules.n_groups": ("the rule base says", 0, 2, 4),
    "rules.n_pairs": ("the rule base says", 0, 2),
    "rules.n_rules": ("the rule base says", 0, 21),
    **dict.fromkeys(("rules.n_features", "rules.n_labels"), ("the rule base says", 2, 4)),
    "rules.next_uid": ("newer than the next", 1),
}
LIES = {f"fitted fitted.learner.{place}": told for place, told in LEARNER.items()}
for lie, names in ARRAYS:
    for name in names.split():
        LIES.setdefault(f"fitted learner/{name}", ("",))
        LIES[f"fitted learner/{name}"] += (lie,)
GROUPS = [["a", [0, 1]], ["b", [1, 2]]], [["a", [0]]], [[7, [0, 1]]], [["a"]], [["a", 3]]
COLUMN = {
    "name": "a",
    "kind": "category",
    "said": "",
    "group": "a",
    "how": "",
    "start": "",
    "yes": "",
}
COLUMN |= {"features": ["a=b"], "values": ["b"], "parts": [], "empty_is_no": False}
CATEGORIES = [COLUMN], [COLUMN | {"kind": "left out"}], [[0, []]], [COLUMN | {"values": [1]}]
LIES |= {
    "warm fitted.learner.n_held": ("cannot hold 12 rows", 12),
    "warm fitted.learner.n_cases": ("cannot have 1 cases", 1),
    "warm fitted.learner.n_recent": ("cannot have 1 recent cases", 1),
    "warm learner/held": ("held", at(-1, 0.5), at(0, np.inf), lambda held: held * np.nan),
    "chain fitted.learner.order": ("name each once", [0, 0], [0, 1, 2], [True, False]),
    "chain fitted.learner.models": ("name each once", []),
    "chain fitted.learner.models.1": ("a model says nothing", 3),
    "chain fitted.learner.n_features": ("model 0 must have 4 features", 4),
    "chain learner/1/rules/support": ("not above zero", negative),
    "rest class": ("model 1 must have 4 features and one label", "ChainEFC"),
    "new class": ("no model of a known class", "Other", ["x"]),
    "new params.vigilance": ("params says vigilance=", {}),
    "new more": ("the estimator must say", 1),
    "fitted ": ("two rules have one uid", same_uid),
    "fitted fitted.label_names": ("label_names must be 3 words", ["a", "b"], ["a", "b", 3]),
    "fitted fitted.classes": ("one label, not 3", classes("<U3", "no", "yes")),
    "classes fitted.classes.values": ("", [], ["a", "b", "c"], ["yes", "yes"], [0, 1]),
    "classes fitted.classes.dtype": ("the classes must be", "<U1", "<U9999", "f8,f8", "<i8"),
    "classes fitted.classes": ("the type", classes("|i1", 0, 300), classes("<i8", True, False)),
    "fitted fitted.columns.more": ("the columns must say flags, groups, categories", 1),
    "fitted fitted.columns.flags": ("must be among 3, each once", [3], [-1], [1, 1], [True]),
    "fitted fitted.columns.groups": ("", *GROUPS),
    "fitted fitted.columns.categories": ("", *CATEGORIES),
    "table fitted.table": ("", [], {}, {"columns": 3, "labels": []}),
    "table fitted.table.columns": ("a table of 0 features cannot be that of", []),
    "table fitted.table.labels": ("", [{}], [3]),
    "table fitted.table.columns.2.kind": ("is of the kind 'mood'", "mood"),
    "table fitted.table.columns.2.more": ("a column of the table must say", 1),
    "table fitted.table.columns.2.values": (
        "",
        ["j", 3, "r"],
        ["jazz", "pop"],
        ["jazz", "pop", "pop"],
    ),
    "table fitted.table.columns.2.features": ("two columns of one name", ["tempo", "b", "c"]),
    "table fitted.table.columns.1.how": ("is no date that can be read", "x", "%" * 99),
    "table fitted.table.columns.1.parts": ("is no date that can be read", ["hour", "x"]),
    "table fitted.table.columns.1.values": ("is no date that can be read", list("abcdefg")),
    "active active.open_questions": ("more questions are open than may be", 2),
    "active active.budget": ("budget must be", 1.5),
    "active active.seed": ("says seed=18446744073709551616", 2**64),
    "active state": ("the state", negative, at(2, 0.5), at(0, 2.0**53)),
    "active ": ("open and expired", expire_open),
    "active open/after": ("parts of rows", lambda after: after + 0.5),
    "active open/x": ("open/x holds infinity", at(0, np.inf)),
    "active open/row": ("open are out of order", lambda row: row[::-1]),
    "active open/reasons": ("unknown reasons", lambda bits: bits + 32),
    "active expired": ("expired has rows that were not asked", lambda row: row + 1000),
    "active asked/row": ("", lambda row: row[::-1], lambda row: row + 100, at(-1, 30)),
    "active asked/reasons": ("unknown reasons", np.zeros_like),
    "active asked/labels": ("about nothing", np.zeros_like),
}


@pytest.mark.parametrize("place", LIES)
def test_lies_are_refused(place, states, path):
    (name, _, place), (reason, *lies) = place.partition(" "), LIES[place]
    for lie in lies:
        content, arrays = deepcopy(states[name][0]), dict(states[name][1])
        if callable(lie):
            arrays |= {place: lie(arrays[place])} if place else lie(arrays)
        else:
            put(content, (int(key) if key.isdigit() else key for key in place.split(".")), lie)
        write_lie(path, content, arrays)
        told = reason_of(path)
        assert reason in told and FIT not in told


def put(facts, way, lie):
    *way, last = way
    for key in way:
        facts = facts[key]
    facts[last] = lie


@pytest.mark.parametrize("name", ["fitted", "warm", "active"])
def test_no_array_may_be_missing_or_hold_what_cannot_be(name, states, path):
    content, arrays = states[name]
    for key, array in arrays.items():
        lies = [array * np.nan] if array.dtype == "f8" else [array * 0 - 1]
        for lie in lies if array.size and array.dtype.kind in "fi" and key != "open/x" else []:
            write_lie(path, content, arrays | {key: lie})
            assert FIT not in reason_of(path)
    other = np.zeros(array.shape, "<i8" if array.dtype == "f8" else "<f8")
    for lie in (array[None], array[:-1], other):
        write_lie(path, content, arrays | {key: lie})
        assert FIT in reason_of(path)
    write_lie(path, content, {one: arrays[one] for one in arrays if one != key})
    assert FIT in reason_of(path)


def test_what_a_real_model_can_have_is_loaded(states, path):
    content, arrays = deepcopy(states["warm"])
    content["fitted"]["learner"]["evidence"][0] = -1.0
    write_lie(path, content, arrays | {"learner/held": at(0, np.nan)(arrays["learner/held"])})
    assert load(path).learner_.held
    content, arrays = states["active"]
    write_lie(path, content, arrays | {"open/x": arrays["open/x"] * np.nan})
    assert load(path).open
