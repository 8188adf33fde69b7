"""save and load: what goes into a file comes out of it, and goes on bit for bit."""

import hashlib
import io
import json
import os
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from helpers.models import EVERYTHING, QUICK, freeze, hide, stream
from sklearn.base import clone

from efcml import (
    ActiveLearner,
    ChainEFC,
    EFCMLClassifier,
    OneVsRestEFC,
    datasets,
    load,
    prequential,
    save,
)
from efcml.model.divergence import DivergenceWarning
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.rulebase import RuleBase
from efcml.saving import archive, expected, pack, read_archive, take, unpack, write_archive
from efcml.saving.layout import npy_head
from efcml.support.states import nest, pick

ROOT = Path(__file__).resolve().parent.parent
KINDS = (EFCMLClassifier, OneVsRestEFC, ChainEFC)
ANY_KIND = pytest.mark.parametrize("kind", KINDS)
PRINTED = {"correlation": "paper", "lipschitz": "paper", "alpha": 0.1, "beta": 1.0}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


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
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))


# -- going on ---------------------------------------------------------------------------------


@ANY_KIND
@pytest.mark.parametrize("options", [QUICK, EVERYTHING], ids=["quick", "everything"])
@pytest.mark.parametrize("start", ["new", "warm-up", "fit", "unknown labels"])
def test_learning_goes_on_bit_for_bit(kind, options, start, path):
    X, Y = stream(50)
    if start == "unknown labels":
        Y = hide(Y)
    model, first = kind(**options), {"new": 0, "warm-up": 6}.get(start, 30)
    if start == "warm-up":
        model.partial_fit(X[:first], Y[:first])
        assert not model.learner_.fitted
    elif start != "new":
        model.fit(X[:first], Y[:first])
    assert_goes_on(model, path, X[first:], Y[first:])
    assert model.n_rules_ > 1


def test_rows_held_without_some_labels(path):
    X, Y = stream(30)
    model = EFCMLClassifier(**QUICK).partial_fit(X[:8], hide(Y)[:8])
    assert np.isnan([y for _, y in model.learner_.held]).any()
    assert_goes_on(model, path, X[8:], Y[8:])


@pytest.mark.parametrize(
    "changes",
    [
        {"forgetting": 0.9},
        {"correlation": "signed", "beta": 1.0, "n_steps": 3},
        {"max_rules": 2},
        {"merging": False, "vigilance": 0.05},
        {"max_rules": sys.maxsize, "weight_limit": 100000},
        {"prior": "auto"},
    ],
)
def test_parameters_go_on(changes, path):
    X, Y = stream(45)
    model = EFCMLClassifier(**(QUICK | changes)).fit(X[:25], Y[:25])
    assert_goes_on(model, path, X[25:], hide(Y[25:]))


@pytest.mark.parametrize("limit", [10.0, np.inf])
def test_rules_that_were_stopped_stay_so(limit, path):
    """And the warning is not given again. Without a limit, planes may run to infinity."""
    X, Y = stream(150, 2, 2)
    options = QUICK | PRINTED | {"weight_limit": limit, "n_steps": 20, "forgetting": 1.0}
    model = EFCMLClassifier(**options)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", DivergenceWarning)
        model.fit(X[:20], Y[:20]).partial_fit(X[20:], Y[20:])
    rules = model.learner_.rules
    assert model.learner_.warned and rules.stopped.any()
    assert np.isfinite(rules.W).all() == np.isfinite(limit)
    copy = through(model, path)
    assert copy.weight_limit == limit
    assert copy.learner_.params.weight_limit == limit
    if np.isfinite(limit):
        assert_goes_on(model, path, X[:5], Y[:5])


def test_numbers_of_numpy_become_plain_ones(path):
    X, Y = stream()
    options = {"weight_limit": np.float32(1e5), "merging": np.True_, "max_rules": np.int64(9)}
    options["random_state"] = np.int32(5)
    model = EFCMLClassifier(**(QUICK | options)).fit(X, Y)
    save(model, path)
    copy = load(path)
    assert copy.get_params() == model.get_params()
    assert copy.learner_.params == model.learner_.params
    assert [type(getattr(copy, name)) for name in options] == [float, bool, int, int]


def test_parameters_set_later_do_not_reach_the_learner(path):
    X, Y = stream()
    model = EFCMLClassifier(**QUICK).fit(X, Y).set_params(vigilance=0.123)
    copy = through(model, path)
    assert copy.vigilance == 0.123
    assert copy.learner_.params.vigilance == QUICK["vigilance"]


def test_labels_that_came_late(path):
    X, Y = stream()
    model = EFCMLClassifier(**QUICK).fit(X[:30], Y[:30])
    model.add_labels(1)
    late = np.column_stack([Y, Y[:, 0]])
    assert_goes_on(model, path, X[30:], late[30:])


def test_counts_keep_their_order(path):
    X, Y = stream()
    model = EFCMLClassifier(**QUICK).fit(X, Y)
    assert list(through(model, path).learner_.counts) == list(model.learner_.counts)


# -- active learning --------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["samples", "labels"])
@pytest.mark.parametrize("criteria", [("novelty", "ambiguity", "instability"), "random"])
def test_questions_go_on(unit, criteria, tmp_path):
    X, Y = stream(70)
    model = EFCMLClassifier(**QUICK).fit(X[:20], Y[:20])
    active = ActiveLearner(0.4, unit, criteria, window=20)
    prequential(model, X[20:45], Y[20:45], active=active)
    assert active.log
    pairs = [(model, active), tuple(through(part, tmp_path / "part") for part in (model, active))]
    first, second = (prequential(one, X[45:], Y[45:], active=two) for one, two in pairs)
    np.testing.assert_array_equal(first.queried, second.queried)
    np.testing.assert_array_equal(first.scores, second.scores)
    assert first.queried.any()
    assert freeze(pairs[0]) == freeze(pairs[1])


def open_questions():
    """A model, an active learner with open and expired questions, and the rows left."""
    X, Y = stream(70)
    model = EFCMLClassifier(**QUICK).fit(X[:20], Y[:20])
    active = ActiveLearner(0.8, "labels", window=10, open_questions=3, random_state=7)
    for x, y in zip(X[20:50], Y[20:50], strict=True):
        question = active.ask(model, x)
        answer = np.where(question.labels, y, np.nan) if question and question.row % 3 else None
        active.tell(model, x, answer)
    assert len(active.open) == 3 and active.expired
    return model, active, X[50:], Y[50:]


def test_open_questions_can_be_answered(path):
    model, active, X, Y = open_questions()
    copy, twin = through(active, path), load_copy(model, path)
    question = copy._open.waiting[copy.open[0]]
    assert not question.labels.flags.writeable and not question.scores.flags.writeable
    for one, two in ((active, model), (copy, twin)):
        row = one.open[1]
        with pytest.raises(ValueError, match="has expired"):
            one.tell(two, None, Y[0], row=min(one._open.expired))
        one.tell(two, None, np.where(labels_of(one, row), 1.0, np.nan), row=row)
        for x in X:
            one.tell(two, x)
    assert copy.open == active.open
    assert freeze((copy, twin)) == freeze((active, model))


def labels_of(active, row):
    return next(query.labels for query in active.log if query.row == row)


def load_copy(model, path):
    save(model, path)
    return load(path)


def test_a_new_active_learner_keeps_its_seed(path):
    active = ActiveLearner.random()
    assert through(active, path).seed == active.seed
    assert through(ActiveLearner.all(random_state=3), path).criteria == ("all",)


def test_questions_about_different_numbers_of_labels_are_refused(path):
    _, active, *_ = open_questions()
    active._log[0] = active._log[0]._replace(labels=np.ones(7, dtype=bool))
    with pytest.raises(ValueError, match="more labels later"):
        save(active, path)
    assert not path.exists()


# -- names and classes ------------------------------------------------------------------------


@ANY_KIND
def test_names_survive(kind, path):
    pandas = pytest.importorskip("pandas")
    X, Y = stream()
    X = pandas.DataFrame(X, columns=["a", "b", "ü"])
    Y = pandas.DataFrame(Y, columns=["sad", "glad", "mad"])
    model = kind(**QUICK).fit(X[:30], Y[:30])
    assert_goes_on(model, path, X[30:], Y[30:])
    copy = load(path)
    assert copy.label_names_.tolist() == ["sad", "glad", "mad"]
    assert copy.feature_names_in_.tolist() == ["a", "b", "ü"]
    with pytest.raises(ValueError, match="feature names"):
        copy.predict(X[["b", "a", "ü"]])
    with pytest.raises(ValueError, match="columns"):
        copy.partial_fit(X, Y[["glad", "sad", "mad"]])


@pytest.mark.parametrize(
    "classes",
    [
        np.array(["no", "yes"]),
        np.array(["no", "a long name"], dtype=object),
        np.array([False, True]),
        np.array([3, 200], dtype=np.uint8),
        np.array([-1, 1], dtype=">i2"),
        np.array([0.0, 2.0], dtype=np.float32),
        np.array([2**64 - 1, 0], dtype=np.uint64),
    ],
    ids=lambda classes: classes.dtype.str,
)
@ANY_KIND
def test_classes_survive(kind, classes, path):
    X, Y = stream()
    y = classes[Y[:, 0].astype(int)]
    model = kind(**QUICK).fit(X[:30], y[:30])
    assert_goes_on(model, path, X[30:], y[30:])
    assert load(path).predict(X).dtype == y.dtype


def test_a_single_class_survives(path):
    X, _ = stream()
    model = EFCMLClassifier(**QUICK).fit(X, np.full(len(X), "yes"))
    assert through(model, path).predict(X).tolist() == ["yes"] * len(X)


def test_classes_of_other_types_are_refused(path):
    X, Y = stream()
    model = EFCMLClassifier(**QUICK).fit(X, Y[:, 0])
    for strange in (np.longdouble([0, 1]), np.array([b"a", b"b"]), np.array(["x" * 1000, ""])):
        model._pair = strange
        with pytest.raises(ValueError, match="classes of the type .* cannot be saved"):
            save(model, path)


# -- parameters and scikit-learn --------------------------------------------------------------


@ANY_KIND
@pytest.mark.parametrize("fitted", [False, True])
def test_scikit_learn_sees_the_same_estimator(kind, fitted, path):
    X, Y = stream()
    model = kind(**QUICK, random_state=5)
    copy = through(model.fit(X, Y) if fitted else model, path)
    assert copy.get_params() == model.get_params()
    assert not hasattr(clone(copy), "learner_")
    assert hasattr(copy, "n_features_in_") == fitted


@pytest.mark.parametrize("order", [[2, 0, 1], (2, 0, 1), np.array([2, 0, 1]), "random"])
def test_the_order_of_a_chain_survives(order, path):
    X, Y = stream(30)
    model = ChainEFC(**QUICK, order=order, random_state=4).fit(X[:20], Y[:20])
    save(model, path)
    copy = load(path)
    assert np.array_equal(copy.order, order)
    assert freeze(copy.learner_) == freeze(model.learner_)
    assert freeze(clone(copy).fit(X, Y).learner_) == freeze(clone(model).fit(X, Y).learner_)


@pytest.mark.parametrize(
    "strange", [np.random.RandomState(0), np.nan, -np.inf, object(), {"a": 1}, ["a"], 1j]
)
def test_parameters_that_json_cannot_hold_are_refused(strange, path):
    with pytest.raises(ValueError, match=r"random_state=.* cannot be saved: set it to a number"):
        save(EFCMLClassifier(random_state=strange), path)
    assert not path.exists()


def test_long_seeds_survive(path):
    assert through(EFCMLClassifier(random_state=10**40), path).random_state == 10**40
    assert through(ActiveLearner(random_state=10**40), path).random_state == 10**40


class Heir(EFCMLClassifier):
    """Its file would come back as another class."""


@pytest.mark.parametrize("strange", [None, 3, "x", EFCMLClassifier, Heir(), RuleBase(1, 1)])
def test_other_objects_are_refused(strange, path):
    wanted = "EFCMLClassifier, OneVsRestEFC, ChainEFC, RiverEFCML, ActiveLearner can be saved; got"
    with pytest.raises(TypeError, match=wanted):
        save(strange, path)
    assert not path.exists()


def test_learners_of_several_pairs_are_refused(path):
    X, Y = stream()
    model = EFCMLClassifier(**QUICK).fit(X, Y)
    learner = Learner(Params(prior=1.0), 3, 3, pairs=((0.0, 0.1), (0.1, 0.1)))
    model.learner_ = learner.fit(X, Y)
    with pytest.raises(ValueError, match="several pairs"):
        save(model, path)


def test_models_that_could_not_be_loaded_are_not_written(path):
    X, Y = stream()
    model = EFCMLClassifier(**QUICK).fit(X, Y)
    model.learner_.rules.arrays.G[0, 0, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"EFCMLClassifier cannot be saved: rules/G holds NaN"):
        save(model, path)
    assert not path.exists()


# -- the file ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    X, Y = stream()
    return EFCMLClassifier(**QUICK).fit(X, hide(Y))


def test_equal_models_give_equal_files(fitted, tmp_path):
    paths = tmp_path / "a.npz", tmp_path / "b.npz"
    save(fitted, paths[0])
    save(load(paths[0]), paths[1])
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_plain_numpy_reads_the_arrays(fitted, path):
    save(fitted, path)
    with np.load(path, allow_pickle=False) as file:
        header = json.loads(file["header.json"])
        digest_over = {name: header[name] for name in header if name != "sha256"}
        text = json.dumps(digest_over, sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(text.encode())
        for name, dtype, shape in header["arrays"]:
            assert (file[name].dtype.str, list(file[name].shape)) == (dtype, shape)
            digest.update(file[name].tobytes())
        np.testing.assert_array_equal(file["learner/rules/W"], fitted.learner_.rules.W)
        assert set(file.files) == {"header.json", *(name for name, *_ in header["arrays"])}
    assert digest.hexdigest() == header["sha256"]
    assert header["content"]["class"] == "EFCMLClassifier"


def test_zip_tools_read_the_file(fitted, path):
    save(fitted, path)
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        infos = file.infolist()
    assert infos[0].filename == "header.json"
    assert all(info.compress_type == zipfile.ZIP_STORED for info in infos)
    assert {info.date_time for info in infos} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 5), (1, 2, 3, 4), (10**6, 10**9)])
def test_heads_of_arrays_are_those_of_numpy(shape):
    head = io.BytesIO(npy_head("<f8", shape))
    assert np.lib.format.read_magic(head) == (1, 0)
    found = np.lib.format.read_array_header_1_0(head)
    assert found == (shape, False, np.dtype("<f8"))
    assert head.read() == b"" and head.tell() % 64 == 0


def test_another_process_goes_on(fitted, path):
    X, Y = stream(50, seed=4)
    save(fitted, path)
    np.savez(path.with_name("rows.npz"), X=X, Y=Y)
    code = (
        "import numpy as np, efcml; rows = np.load('rows.npz'); clf = efcml.load('model.npz');"
        "print(clf.partial_fit(rows['X'], rows['Y']).decision_function(rows['X']).tobytes().hex())"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, cwd=path.parent, env=env, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    scores = load(path).partial_fit(X, Y).decision_function(X)
    assert result.stdout.strip() == scores.tobytes().hex()


# -- written as a whole or not at all ---------------------------------------------------------


def fail_with(error):
    def fail(*_):
        raise error

    return fail


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("step", ["os.fsync", "os.replace", "directory"])
def test_a_failure_leaves_the_old_file(fitted, path, monkeypatch, error, step):
    save(EFCMLClassifier(), path)
    before = path.read_bytes()
    home, _, name = step.rpartition(".")
    monkeypatch.setattr(os if home else archive, name, fail_with(error))
    with pytest.raises(type(error)):
        save(fitted, path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_the_data_are_on_disk_before_the_name(fitted, path, monkeypatch):
    steps = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda *a: steps.append("sync") or sync(*a))
    monkeypatch.setattr(os, "replace", lambda *a: steps.append(a) or replace(*a))
    save(fitted, path)
    assert steps[0] == "sync" and len(steps) == 2
    part, target = map(Path, steps[1])
    assert part.parent == target.parent == path.parent.resolve()


def test_links_and_rights_are_kept(fitted, path):
    real = path.with_name("real.npz")
    save(EFCMLClassifier(), real)
    real.chmod(0o600)
    path.symlink_to(real)
    save(fitted, path)
    assert path.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert freeze(load(real)) == freeze(fitted)


def test_new_files_have_the_usual_rights(fitted, path):
    save(fitted, path)
    path.with_name("other").touch()
    assert path.stat().st_mode == path.with_name("other").stat().st_mode


def test_folders_and_missing_files(fitted, path):
    with pytest.raises(FileNotFoundError):
        load(path)
    with pytest.raises(FileNotFoundError):
        save(fitted, path / "model.npz")
    with pytest.raises(IsADirectoryError):
        save(fitted, path.parent)
    assert os.listdir(path.parent) == []
    with pytest.raises(ValueError, match="it is no file"):
        load(path.parent)


# -- parts of something larger ----------------------------------------------------------------


def expect_checkpoint(header):
    content = take(header["content"], "the checkpoint", model=dict, active=dict, rows=range(1000))
    run = {"scores": ("<f8", (content["rows"], 3))}
    models = {name: expected(content[name]) for name in ("model", "active")}
    return nest(run=run, **models)


def test_models_are_parts_of_a_checkpoint(path):
    model, active, X, Y = open_questions()
    states = {"model": pack(model), "active": pack(active)}
    content = {name: facts for name, (facts, _) in states.items()} | {"rows": np.int64(4)}
    scores = model.learner_.score(X[:4])
    arrays = nest(run={"scores": scores}, **{name: part for name, (_, part) in states.items()})
    write_archive(path, {"kind": "checkpoint", "content": content}, arrays)
    header, found = read_archive(path, expect_checkpoint)
    assert header["kind"] == "checkpoint"
    np.testing.assert_array_equal(pick(found, "run")["scores"], scores)
    for name, one in (("model", model), ("active", active)):
        assert freeze(unpack(header["content"][name], pick(found, name))) == freeze(one)
    with pytest.raises(ValueError, match="it holds a checkpoint, not a model"):
        load(path)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("../x", np.zeros(1)),
        ("/x", np.zeros(1)),
        ("x//y", np.zeros(1)),
        ("", np.zeros(1)),
        ("ü", np.zeros(1)),
        ("x", np.zeros(1, dtype=object)),
        ("x", np.zeros(1, dtype="f4")),
        ("x", np.zeros(1, dtype=">f8")),
        ("x", np.array(["a"])),
    ],
)
def test_strange_arrays_are_not_written(name, array, path):
    with pytest.raises(ValueError, match="cannot be saved"):
        write_archive(path, {"kind": "x", "content": {}}, {name: array})
    assert not path.exists()


def test_headers_that_could_not_be_read_are_not_written(path):
    with pytest.raises(ValueError, match="header would have"):
        write_archive(path, {"kind": "x", "content": {"long": "x" * 2**22}}, {})
    with pytest.raises(ValueError, match="must say"):
        write_archive(path, {"kind": "x"}, {})
    with pytest.raises(TypeError, match="JSON cannot hold a PosixPath"):
        write_archive(path, {"kind": "x", "content": {"a": Path()}}, {})
    assert not path.exists()


def test_arrays_come_back_in_any_order_of_memory(path, rng):
    square = np.asfortranarray(rng.normal(size=(3, 4)))
    arrays = {
        "f": square,
        "t": square.T[::2],
        "flags": square > 0,
        "bytes": np.arange(3, dtype="u1"),
    }
    write_archive(path, {"kind": "x", "content": {}}, arrays | {"none": np.zeros((0, 5))})
    shapes = {"f": ("<f8", (3, 4)), "t": ("<f8", (2, 3)), "flags": ("|b1", (3, 4))}
    shapes |= {"bytes": ("|u1", (3,)), "none": ("<f8", (0, 5))}
    _, found = read_archive(path, lambda header: shapes)
    for name in arrays:
        np.testing.assert_array_equal(found[name], arrays[name])
        assert found[name].flags.c_contiguous and found[name].flags.writeable


def test_files_of_the_first_format_load_and_go_on():
    """A model that was saved before there was splitting: it answers as it did, and is not split."""
    path = Path(__file__).parent / "data" / "format_1.npz"
    ds = datasets.load("drifting-clusters-2d", n=300)
    clf = load(path)
    expected = [[0.439142, -0.257609], [0.462794, -0.271829]]  # as the version that wrote it said
    np.testing.assert_allclose(clf.decision_function(ds.X[290:292])[:, :2], expected, atol=2e-6)
    assert (clf.splitting, clf.least_share) == ("off", 0.0)
    clf.partial_fit(ds.X[250:], ds.Y[250:])
    assert clf.learner_.counts["splits"] == 0


def test_files_of_the_second_format_load_and_go_on():
    """A model from before rules counted what they decide: it answers, goes on and can be read."""
    ds = datasets.load("drifting-clusters-2d", n=300)
    clf = load(Path(__file__).parent / "data" / "format_2.npz")
    expected = [[0.4400964, -0.4435661], [0.4209501, -0.4042982]]  # as that version said
    np.testing.assert_allclose(clf.decision_function(ds.X[290:292])[:, :2], expected, atol=2e-7)
    rules = clf.learner_.rules
    assert not rules.decided.any()
    by_use = sorted(rules.use / rules.use.sum(), reverse=True)
    np.testing.assert_allclose([rule.decides for rule in clf.rules_], by_use)
    assert "of late" not in str(clf.rules_) and "nan" not in str(clf.rules_)
    clf.partial_fit(ds.X[250:], ds.Y[250:])
    expected = [[0.4581172, -0.3399446], [0.4711162, -0.3319607]]
    np.testing.assert_allclose(clf.decision_function(ds.X[290:292])[:, :2], expected, atol=2e-7)
    assert sum(rule.decides for rule in clf.rules_) == pytest.approx(1.0)
    assert clf.learner_.rules.decided.sum() == pytest.approx((1 - 0.998**50) * 500)
