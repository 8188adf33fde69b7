"""save and load: what goes into a file comes out of it and goes on bit for bit.

Files that are broken, foreign, older or lie are refused in one line, and nothing in them is run.
"""

import contextlib
import copy
import errno
import hashlib
import io
import json
import os
import pickle
import zipfile

import numpy as np
import pandas
import pytest
from helpers.mixed_tables import LABELS, write_mixed
from helpers.models import EVERYTHING, QUICK, freeze, hide, open_questions, stream
from numpy.testing import assert_array_equal
from sklearn.base import clone

from efcml import (
    ActiveLearner,
    ChainEFC,
    EFCMLClassifier,
    OneVsRestEFC,
    datasets,
    load,
    register,
    save,
    saving,
)
from efcml.active.active_learner import FIRST
from efcml.model.params import Params
from efcml.model.rulebase import RuleBase
from efcml.model.temporal import TemporalStage
from efcml.saving import pack, write

ANY_KIND = pytest.mark.parametrize("kind", [EFCMLClassifier, OneVsRestEFC, ChainEFC])
PRINTED = {"correlation": "paper", "lipschitz": "paper", "alpha": 0.1, "beta": 1.0}
EXECUTED = []  # what a pickled payload would change


def first_feature(S, p):
    """Cut rules across the first feature."""
    return np.eye(p)[0]


class OwnStage(TemporalStage):
    """A stage that somebody brings."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


@pytest.fixture(scope="module")
def fitted():
    X, Y = stream()
    return EFCMLClassifier(**QUICK, cases=7).fit(X, hide(Y))


def through(model, path):
    """Save a model and load it; saving does not change it."""
    before = freeze(model)
    assert save(model, path) is None
    assert freeze(model) == before
    loaded = load(path)
    assert type(loaded) is type(model)
    assert freeze(loaded) == before
    return loaded


def assert_goes_on(model, path, X, Y):
    """Learn rows with a model and with the one from its file: every bit must be the same."""
    copy = through(model, path)
    for one in (model, copy):
        one.partial_fit(X, Y)
    assert freeze(copy) == freeze(model)
    assert_array_equal(copy.decision_function(X), model.decision_function(X))
    return copy


# -- round trips ----------------------------------------------------------------------------


@ANY_KIND
@pytest.mark.parametrize("rows", [0, 6, 30], ids=["new", "warm-up", "fitted"])
def test_learning_goes_on_bit_for_bit(kind, rows, path):
    X, Y = stream(50)
    model, Y = kind(**(EVERYTHING if rows == 30 else QUICK)), hide(Y) if rows else Y
    if rows:
        (model.fit if rows == 30 else model.partial_fit)(X[:rows], Y[:rows])
        assert model.learner_.fitted == (rows == 30)
    copy = assert_goes_on(model, path, X[rows:], Y[rows:])
    assert copy.get_params() == model.get_params() and not hasattr(clone(copy), "learner_")
    assert model.n_rules_ > 1


def test_functions_are_saved_by_the_names_they_are_registered_under(path):
    X, Y = stream()
    own = {"splitting": first_feature, "stages": (OwnStage,), "time": False}
    model = EFCMLClassifier(**QUICK, **own).fit(X, Y)
    with pytest.raises(ValueError, match=r'call efcml.register\("split", "a name", function\)'):
        save(model, path)
    register("split", "first feature", first_feature)
    register("stage", "time", OwnStage)
    save(model, path)
    copy = load(path)
    assert copy.splitting == "first feature" and copy.stages == ("time",)
    for one in (model, copy):
        one.partial_fit(X, Y)
    assert_array_equal(copy.decision_function(X), model.decision_function(X))


def test_parameters_become_plain_and_those_set_later_do_not_reach_the_learner(path):
    X, Y = stream()
    options = {"clip": np.float32(4.0), "merging": np.True_, "max_rules": np.int64(9)}
    options["random_state"] = np.int32(5)
    model = EFCMLClassifier(**(QUICK | options)).fit(X, Y).set_params(vigilance=0.123)
    save(model, path)
    copy = load(path)
    assert copy.get_params() == model.get_params()
    assert [type(getattr(copy, name)) for name in options] == [float, bool, int, int]
    assert copy.learner_.params == model.learner_.params
    assert (copy.vigilance, copy.learner_.params.vigilance) == (0.123, QUICK["vigilance"])
    assert through(EFCMLClassifier(random_state=10**40), path).random_state == 10**40


def test_names_and_labels_that_came_late_survive(path):
    X, Y = stream()
    X = pandas.DataFrame(X, columns=["a", "b", "ü"])
    Y = pandas.DataFrame(Y, columns=["sad", "glad", "mad"])
    model = EFCMLClassifier(**QUICK).fit(X[:30], Y[:30])
    copy = assert_goes_on(model, path, X[30:], Y[30:])
    assert copy.label_names_.tolist() == ["sad", "glad", "mad"]
    assert copy.feature_names_in_.tolist() == ["a", "b", "ü"]
    model = EFCMLClassifier(**QUICK).fit(X[:30].to_numpy(), Y[:30].to_numpy())
    model.add_labels(1)
    assert_goes_on(model, path, X[30:].to_numpy(), np.column_stack([Y, Y["sad"]])[30:])
    through(model.name_columns(list("abc"), list("wxyz")), path)


@pytest.mark.parametrize("dtype", ["U9", "O", "?", ">i2", "f4", "u8"])
def test_classes_survive(dtype, path):
    classes = np.array(["no", "yes"] if dtype in ("U9", "O") else [0, 1], dtype=dtype)
    X, Y = stream()
    y = classes[Y[:, 0].astype(int)]
    copy = assert_goes_on(EFCMLClassifier(**QUICK).fit(X[:30], y[:30]), path, X[30:], y[30:])
    assert copy.predict(X).dtype == y.dtype
    assert copy.classes_.tolist() == classes.tolist()


def test_the_order_of_a_chain_survives(path):
    model = ChainEFC(**QUICK, order=np.array([2, 0, 1])).fit(*stream(20))
    save(model, path)
    assert load(path).order == [2, 0, 1]
    assert freeze(load(path).learner_) == freeze(model.learner_)


def test_open_questions_can_be_answered(path):
    model, active, X, Y = open_questions()
    copy, twin = through(active, path), through(model, path)
    for one, two in ((active, model), (copy, twin)):
        row, labels = one.waiting[1].row, one.waiting[1].labels
        one.tell(two, None, np.where(labels, 1.0, np.nan), row=row)
        for x in X:
            one.tell(two, x)
    assert freeze((copy, twin)) == freeze((active, model))
    new = ActiveLearner.random()
    assert through(new, path).seed == new.seed
    assert active.waiting[0].names == copy.waiting[0].names


def test_the_table_goes_with_the_model(tmp_path, path):
    ds = datasets.from_csv(write_mixed(tmp_path, 90), LABELS, n_initial=60)
    (X, Y), _ = ds.frames()
    clf = EFCMLClassifier(prior=1.0, max_rules=3).fit(X, Y)
    save(clf, path)
    assert not hasattr(load(path), "table_")
    save(clf, path, table=ds.table)
    copy = load(path)
    assert copy.table_ == ds.table
    save(copy, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()
    copy.fit(X[["tempo", "member"]], Y)  # the table is no longer that of the model
    save(copy, path)
    assert not hasattr(load(path), "table_")
    with pytest.raises(ValueError, match="give that of its data set"):
        save(copy, path, table=ds.table)
    with pytest.raises(ValueError, match="ActiveLearner has no table"):
        save(ActiveLearner(), path, table=ds.table)


# -- writing --------------------------------------------------------------------------------


class Heir(EFCMLClassifier):
    """Its file would come back as another class."""


def test_what_cannot_be_saved_is_refused(fitted, path):
    for strange in (None, 3, EFCMLClassifier, Heir(), RuleBase(Params(), 1, 1)):
        with pytest.raises(TypeError, match="ChainEFC, ActiveLearner can be saved"):
            save(strange, path)
    for strange in (np.random.RandomState(0), np.nan, -np.inf, 1j):
        with pytest.raises(ValueError, match=r"random_state=.* cannot be saved: set it to a numb"):
            save(EFCMLClassifier(random_state=strange), path)
    X, Y = stream()
    model = EFCMLClassifier(**QUICK).fit(X, Y[:, 0])
    for strange in (np.longdouble([0, 1]), np.array([b"a", b"b"])):
        model._pair = strange
        with pytest.raises(ValueError, match="EFCMLClassifier cannot be saved: Object of type"):
            save(model, path)
    model = copy.deepcopy(fitted)
    model.learner_.rules.arrays.G[0, 0, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"EFCMLClassifier cannot be saved: rules/G holds NaN"):
        save(model, path)
    assert not path.exists()


def test_numpy_reads_the_file_and_equal_models_give_equal_ones(fitted, path):
    save(fitted, path)
    with np.load(path, allow_pickle=False) as file:
        assert json.loads(file["header"].tobytes())["content"]["class"] == "EFCMLClassifier"
        assert_array_equal(file["learner/rules/W"], fitted.learner_.rules.W)
        digest = hashlib.sha256(file["header"].tobytes())
        for name in sorted(set(file.files) - {"header", "sha256"}):
            digest.update(f"{name} {file[name].dtype.str} {file[name].shape}".encode())
            digest.update(file[name].tobytes())
        assert digest.digest() == file["sha256"].tobytes()
    before = path.read_bytes()
    save(load(path), path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["fsync", "replace", "savez"])
def test_a_failure_leaves_the_old_file(fitted, path, monkeypatch, error, step):
    save(EFCMLClassifier(), path)
    before = path.read_bytes()

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(np if step == "savez" else os, step, fail)
    with pytest.raises(type(error)):
        save(fitted, path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


# -- reading --------------------------------------------------------------------------------


def reason_of(path):
    """Return why a file is refused, in one line."""
    with pytest.raises(ValueError) as caught:
        load(path)
    reason = str(caught.value)
    assert reason.startswith(f"{path} cannot be loaded: ") and reason.endswith(".")
    assert EXECUTED == [] and "\n" not in reason and len(reason) < 500
    return reason


class Payload:
    """Does something when it is unpickled."""

    def __reduce__(self):
        return EXECUTED.append, ("executed",)


def numpy_file(write=np.savez, **arrays):
    file = io.BytesIO()
    write(file, **arrays)
    return file.getvalue()


def parts_of(contents):
    with np.load(io.BytesIO(contents)) as file:
        return {name: file[name] for name in file.files}


def older(contents):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr("header.json", '{"format":"efcml","format_version":3}')
    return file.getvalue()


def header_of(change):
    """Return how to change the text of the header, under a hash that fits."""

    def rewrite(contents):
        parts = parts_of(contents)
        text = change(parts.pop("header").tobytes())
        header = np.frombuffer(text, np.uint8)
        parts.pop("sha256")
        return numpy_file(header=header, sha256=saving.content_hash(text, parts), **parts)

    return rewrite


def saying(**facts):
    return header_of(lambda text: json.dumps(json.loads(text) | facts).encode())


def replaced(*, hashed=True, **changed):
    """Return how to change arrays under a hash that fits, or the old one. "__" stands for "/"."""

    def rewrite(contents):
        parts = parts_of(contents)
        parts |= {name.replace("__", "/"): change for name, change in changed.items()}
        parts = {name: part for name, part in parts.items() if part is not None}
        contents = numpy_file(**parts)
        return header_of(lambda text: text)(contents) if hashed else contents

    return rewrite


def huge(contents):
    """Return a file in which an array claims to have a terabyte."""
    file, shape = io.BytesIO(), b"'shape': (99999999999,), }"
    with zipfile.ZipFile(io.BytesIO(contents)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            data, wide = old.read(name), len(shape)
            if name == "learner/scaler/mean.npy":
                start = data.index(b"'shape'")
                data = data[:start] + shape + data[start + wide :]
            new.writestr(name, data)
    return file.getvalue()


W = "learner__rules__W"
BAD_FILES = {
    "nothing": (lambda good: b"", "no file of efcml"),
    "a pickle": (lambda good: pickle.dumps(Payload()), "no file of efcml"),
    "objects inside": (
        replaced(**{W: np.array([Payload()])}, hashed=False),
        "Object arrays cannot be loaded",
    ),
    "another npz": (lambda good: numpy_file(W=np.zeros(3)), "not written by efcml"),
    "compressed": (lambda good: numpy_file(np.savez_compressed, **parts_of(good)), "compressed"),
    "older": (older, "an earlier efcml wrote it, in a format that this one does not read: train"),
    "newer": (saying(format_version=7), "a newer efcml wrote it (format 7): upgrade efcml"),
    "no JSON": (header_of(lambda text: text[1:]), "Extra data"),
    "NaN": (header_of(lambda text: text.replace(b'"alpha": 0.0', b'"alpha": NaN')), "alpha must"),
    "missing": (replaced(**{W: None}), "not those that its header asks for"),
    "more arrays": (replaced(more=np.zeros(3)), "not those that its header asks for"),
    "other shape": (replaced(learner__scaler__mean=np.zeros(4)), "another type or shape"),
    "other values": (replaced(learner__scaler__mean=np.zeros(3), hashed=False), "sha256"),
    "a terabyte": (huge, "damaged or no file of efcml"),
}


@pytest.fixture(scope="module")
def good(fitted, tmp_path_factory):
    save(fitted, tmp_path_factory.mktemp("good") / "model.npz")
    return (tmp_path_factory.getbasetemp() / "good0" / "model.npz").read_bytes()


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_refused_in_one_line(name, good, path):
    spoil, reason = BAD_FILES[name]
    path.write_bytes(spoil(good))
    assert reason in reason_of(path)


@pytest.mark.parametrize("count", [100, pytest.param(5000, marks=pytest.mark.long)])
def test_a_changed_bit_is_refused_or_means_nothing(count, good, fitted, path, rng):
    for at in rng.integers(len(good), size=count):
        data = bytearray(good)
        data[at] ^= 1 << rng.integers(8)
        path.write_bytes(data)
        try:
            assert freeze(load(path)) == freeze(fitted)
        except ValueError as error:
            assert str(error).startswith(f"{path} cannot be loaded: ")


def places_in(facts, way=()):
    """Yield the ways to all values in facts."""
    items = facts.items() if isinstance(facts, dict) else enumerate(facts)
    for key, value in items:
        if value and isinstance(value, dict | list):
            yield from places_in(value, (*way, key))
        else:
            yield (*way, key)


ANYTHING = (0, -1, 1, 2**31, 2**62, 1.5, 1e300, "x", True, None, [], {})


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("count", [200, pytest.param(3000, marks=pytest.mark.long)])
def test_a_lie_under_a_right_hash_is_refused_or_harmless(count, states, path, rng):
    """Compiled code does not check its indices: a wrong value must not lead it out of arrays."""
    (X, Y), refused, answered = stream(), 0, 0
    for _ in range(count):
        facts, arrays = copy.deepcopy(states[rng.choice(["fitted", "warm", "chain"])])
        arrays = {name: array.copy() for name, array in arrays.items()}
        if rng.random() < 0.5:
            places = list(places_in(facts))
            *way, last = places[rng.integers(len(places))]
            part = facts
            for key in way:
                part = part[key]
            part[last] = ANYTHING[rng.integers(len(ANYTHING))]
        else:
            array = arrays[rng.choice([name for name in arrays if arrays[name].size])].reshape(-1)
            wild = np.array([0, -1, 1, 5, 1e6, -1e6, 2**40, 1e300])[rng.integers(8)]
            with np.errstate(invalid="ignore"):
                array[rng.integers(array.size)] = wild.astype(array.dtype)
        write(path, facts, arrays)
        try:
            model = load(path)
        except ValueError as error:
            refused += "\n" not in str(error)
            continue
        labels = Y[:4, : len(model.classes_)]
        with contextlib.suppress(TypeError, ValueError):
            answered += model.partial_fit(X[:4], labels).predict_proba(X[:4]).shape == labels.shape
    assert refused > count / 5
    assert refused + answered > 0.98 * count


@pytest.fixture(scope="module")
def states(fitted, tmp_path_factory):
    """Facts and arrays of models of every kind."""
    X, Y = stream()
    ds = datasets.from_csv(write_mixed(tmp_path_factory.mktemp("t"), 60), LABELS, n_initial=60)
    return {
        "fitted": pack(fitted),
        "warm": pack(EFCMLClassifier(**QUICK).partial_fit(X[:5], hide(Y)[:5])),
        "classes": pack(EFCMLClassifier(**QUICK).fit(X, np.where(Y[:, 0], "yes", "no"))),
        "chain": pack(ChainEFC(**QUICK, order=[1, 0]).fit(X, Y[:, :2])),
        "active": pack(open_questions()[1]),
        "new": pack(EFCMLClassifier()),
        "table": pack(EFCMLClassifier(**QUICK).fit(*ds.frames()[0]), ds.table),
    }


# By model and place in its facts (or, with "/", by its array): a part of the reason, and lies.
LIES = {
    "new class": ("no model of a known class", "Other"),
    "warm learners.0.n_features": ("another type or shape", 299),
    "fitted learner/rules/numbers": ("newer than the next", lambda a: a * 0),
    "fitted learner/rules/uid": ("one uid", lambda a: a * 0),
    "fitted learner/rules/W": ("holds NaN", lambda a: a * np.nan),
    "fitted learner/scaler/scale": (
        "another type or shape",
        lambda a: a[1:],
        lambda a: a.astype(int),
    ),
    "fitted face.label_names_": ("label_names_ must be 3 words", ["a"], ["a", "b", None]),
    "classes face.classes.dtype": ("", "what", 3),
    "chain face.order": ("each once", [0, 0], [0, 1, 2], []),
    "chain learners.0.n_features": ("another type or shape", 4),
    "table face.table": ("", [], {}, {"columns": 3, "labels": []}, {"columns": [], "labels": []}),
    "active face.criteria": ("every one of the criteria must be", ["curious"]),
    "active face.log": ("", [1], [[1]], None),
    "active face.log.0.row": ("row=", -1, 10**9, 1.0),
    "active face.log.1.row": ("rows are asked twice", 0),
    "active face.log.0.scores": ("labels or features of no row", [0.5], [1e999] * 3),
    "active face.log.0.after": ("the spending says", [1, 3, -1, 0.0, dict(FIRST)]),
    "active face.waiting.0.row": ("that nobody asked for", 29),
    "active face.waiting.0.x": ("", None, [[1e999] * 3], [1.0, 2.0, 3.0], [["a"] * 3]),
    "active face.waiting.0.labels": ("features of no row", [False] * 3, [2, 1, 0], [True] * 4),
    "active face.seed": ("seed must be", -1, 0.5, None),
    "active face.state.0": ("the spending says rows", -1, 1.0),
    "active face.state.2": ("", -(10**6), 10**6),
    "active face.state.3": ("no stream leads to", -1.0, 1e999),
    "active face.state.4": ("", {}, dict(FIRST, instability=-1.0), dict(FIRST, ambiguity=7.0)),
}


@pytest.mark.parametrize("place", LIES)
def test_lies_are_refused(place, states, path):
    (name, _, place), (reason, *lies) = place.partition(" "), LIES[place]
    for lie in lies:
        content, arrays = copy.deepcopy(states[name][0]), dict(states[name][1])
        if "/" in place:
            arrays[place] = lie(arrays[place])
        else:
            *way, last = place.split(".")
            facts = content
            for key in way:
                facts = facts[int(key) if key.isdigit() else key]
            facts[int(last) if last.isdigit() else last] = lie
        write(path, content, arrays)
        assert reason in reason_of(path)


def test_only_files_are_read(path, tmp_path):
    os.mkfifo(path)
    with pytest.raises(ValueError, match="it is no file"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.npz")
