"""save and load: what goes into a file comes out of it, and goes on bit for bit."""

import copy
import errno
import hashlib
import json
import os
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas
import pytest
from helpers.mixed_tables import LABELS, write_mixed
from helpers.models import EVERYTHING, QUICK, freeze, hide, open_questions, stream
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import efcml
from efcml import ActiveLearner, ChainEFC, EFCMLClassifier, OneVsRestEFC, datasets, load, save
from efcml.model.divergence import DivergenceWarning
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.model.rulebase import RuleBase
from efcml.saving import archive, load_fitted, read_archive, tabular, write_archive
from efcml.saving.older_files import up_to_date

DATA = Path(__file__).parent / "data"
ANY_KIND = pytest.mark.parametrize("kind", [EFCMLClassifier, OneVsRestEFC, ChainEFC])
PRINTED = {"correlation": "paper", "lipschitz": "paper", "alpha": 0.1, "beta": 1.0}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


@pytest.fixture(scope="module")
def fitted():
    X, Y = stream()
    return EFCMLClassifier(**QUICK).fit(X, hide(Y))


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


def test_unlimited_planes_may_be_infinite(path):
    X, Y = stream(150, 2, 2)
    options = QUICK | PRINTED | {"weight_limit": np.inf, "n_steps": 20, "forgetting": 1.0}
    model = EFCMLClassifier(**options)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", DivergenceWarning)
        model.fit(X[:20], Y[:20]).partial_fit(X[20:], Y[20:])
    assert model.learner_.warned and not np.isfinite(model.learner_.rules.W).all()
    copy = through(model, path)  # the warning is not given again
    assert copy.weight_limit == copy.learner_.params.weight_limit == np.inf


def test_parameters_become_plain_and_those_set_later_do_not_reach_the_learner(path):
    X, Y = stream()
    options = {"weight_limit": np.float32(1e5), "merging": np.True_, "max_rules": np.int64(9)}
    options["random_state"] = np.int32(5)
    model = EFCMLClassifier(**(QUICK | options)).fit(X, Y).set_params(vigilance=0.123)
    save(model, path)
    copy = load(path)
    assert copy.get_params() == model.get_params()
    assert [type(getattr(copy, name)) for name in options] == [float, bool, int, int]
    assert copy.learner_.params == model.learner_.params
    assert (copy.vigilance, copy.learner_.params.vigilance) == (0.123, QUICK["vigilance"])
    assert list(copy.learner_.counts) == list(model.learner_.counts)
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
    late = np.column_stack([Y, Y["sad"]])
    assert_goes_on(model, path, X[30:].to_numpy(), late[30:])
    through(model.name_columns(list("abc"), list("wxyz")), path)


@pytest.mark.parametrize("dtype", ["U9", "O", "?", ">i2", "f4", "u8"])
def test_classes_survive(dtype, path):
    words = dtype in ("U9", "O")
    classes = np.array(["no", "yes"] if words else [0, 1], dtype=dtype)
    X, Y = stream()
    y = classes[Y[:, 0].astype(int)]
    copy = assert_goes_on(EFCMLClassifier(**QUICK).fit(X[:30], y[:30]), path, X[30:], y[30:])
    assert copy.predict(X).dtype == y.dtype
    assert copy.classes_.tolist() == classes.tolist()


@pytest.mark.parametrize("order", [np.array([2, 0, 1]), "random"], ids=str)
def test_the_order_of_a_chain_survives(order, path):
    X, Y = stream(20)
    model = ChainEFC(**QUICK, order=order, random_state=4).fit(X, Y)
    save(model, path)
    assert np.array_equal(load(path).order, order)
    assert freeze(load(path).learner_) == freeze(model.learner_)


def test_open_questions_can_be_answered(path):
    model, active, X, Y = open_questions()
    copy, twin = through(active, path), through(model, path)
    for one, two in ((active, model), (copy, twin)):
        with pytest.raises(ValueError, match="has expired"):
            one.tell(two, None, Y[0], row=min(one._open.expired))
        row = one.open[1]
        labels = next(query.labels for query in one.log if query.row == row)
        one.tell(two, None, np.where(labels, 1.0, np.nan), row=row)
        for x in X:
            one.tell(two, x)
    assert freeze((copy, twin)) == freeze((active, model))
    new = ActiveLearner.random()
    assert through(new, path).seed == new.seed
    active._log[0] = active._log[0]._replace(labels=np.ones(7, dtype=bool))
    with pytest.raises(ValueError, match="more labels later"):
        save(active, path)


def test_the_table_goes_with_the_model(tmp_path, path):
    ds = datasets.from_csv(write_mixed(tmp_path, 90), LABELS, n_initial=60)
    (X, Y), _ = ds.frames()
    clf = EFCMLClassifier(prior=1.0, max_rules=3).fit(X, Y).name_columns(groups=ds.table.groups)
    save(clf, path)
    assert not hasattr(load(path), "table_") and b'"table"' not in path.read_bytes()
    save(clf, path, table=ds.table)
    copy = load(path)
    assert copy.table_ == ds.table
    assert copy._groups == clf._groups and (copy._flags == clf._flags).all()
    save(copy, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()
    copy.fit(X[["tempo", "hour"]], Y)  # the table is no longer that of the model
    save(copy, path)
    assert not hasattr(load(path), "table_")
    with pytest.raises(ValueError, match="give the table of its data set"):
        save(copy, path, table=ds.table)
    with pytest.raises(ValueError, match="ActiveLearner has no table"):
        save(ActiveLearner(), path, table=ds.table)


def test_what_was_learned_is_what_the_estimator_has(fitted, path):
    save(fitted, path)
    kind, found = load_fitted(path)
    assert (kind, {*found}) == ("EFCMLClassifier", {*vars(fitted)} - {*fitted.get_params()})
    assert freeze(found["learner_"]) == freeze(fitted.learner_)
    for kind in tabular.LEARNERS:
        names = getattr(efcml, kind)().get_params()
        assert sorted(tabular.parameter_names(kind)) == sorted(names)


class Heir(EFCMLClassifier):
    """Its file would come back as another class."""


def test_what_cannot_be_saved_is_refused(fitted, path):
    for strange in (None, 3, EFCMLClassifier, Heir(), RuleBase(1, 1)):
        with pytest.raises(TypeError, match="ChainEFC, RiverEFCML, ActiveLearner can be saved"):
            save(strange, path)
    for strange in (np.random.RandomState(0), np.nan, -np.inf, {"a": 1}, ["a"], 1j):
        with pytest.raises(ValueError, match=r"random_state=.* cannot be saved: set it to a numb"):
            save(EFCMLClassifier(random_state=strange), path)
    X, Y = stream()
    model = EFCMLClassifier(**QUICK).fit(X, Y[:, 0])
    for strange in (np.longdouble([0, 1]), np.array([b"a", b"b"]), np.array(["x" * 1000, ""])):
        model._pair = strange
        with pytest.raises(ValueError, match="classes of the type .* cannot be saved"):
            save(model, path)
    model = copy.deepcopy(fitted)
    model.learner_.rules.arrays.G[0, 0, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"EFCMLClassifier cannot be saved: rules/G holds NaN"):
        save(model, path)
    model.learner_ = Learner(Params(prior=1.0), 3, 3, pairs=((0.0, 0.1), (0.1, 0.1))).fit(X, Y)
    with pytest.raises(ValueError, match="several pairs"):
        save(model, path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("content", "arrays", "error"),
    [
        *(({}, {name: np.zeros(1)}, "cannot be saved") for name in ("../x", "/x", "x//y", "", "ü")),
        *(({}, {"x": np.zeros(1, dtype)}, "cannot be saved") for dtype in ("O", "f4", ">f8", "U1")),
        ({"long": "x" * 2**22}, {}, "header would have"),
        ({"a": Path()}, {}, "JSON cannot hold a PosixPath"),
    ],
)
def test_what_could_not_be_read_is_not_written(content, arrays, error, path):
    with pytest.raises((ValueError, TypeError), match=error):
        write_archive(path, {"kind": "x", "content": content}, arrays)
    assert not path.exists()


def test_numpy_and_zip_tools_read_the_file_and_equal_models_give_equal_ones(fitted, path):
    save(fitted, path)
    with np.load(path, allow_pickle=False) as file:
        header = json.loads(file["header.json"])
        told = {name: header[name] for name in header if name != "sha256"}
        digest = hashlib.sha256(json.dumps(told, sort_keys=True, separators=(",", ":")).encode())
        for name, dtype, shape in header["arrays"]:
            assert (file[name].dtype.str, list(file[name].shape)) == (dtype, shape)
            digest.update(file[name].tobytes())
        assert_array_equal(file["learner/rules/W"], fitted.learner_.rules.W)
        assert set(file.files) == {"header.json", *(name for name, *_ in header["arrays"])}
    assert digest.hexdigest() == header["sha256"]
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        assert {i.date_time for i in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    before = path.read_bytes()
    save(load(path), path)
    assert path.read_bytes() == before


def test_arrays_come_back_in_any_order_of_memory(path, rng):
    square = np.asfortranarray(rng.normal(size=(3, 4)))
    arrays = {"f": square, "t": square.T[::2], "none": np.zeros((0, 5)), "one": np.array(3.0)}
    write_archive(path, {"kind": "x", "content": {}}, arrays)
    shapes = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    _, found = read_archive(path, lambda header: shapes)
    for name in arrays:
        assert_array_equal(found[name], arrays[name])
        assert found[name].flags.c_contiguous and found[name].flags.writeable


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["fsync", "replace", "directory"])
def test_a_failure_leaves_the_old_file(fitted, path, monkeypatch, error, step):
    save(EFCMLClassifier(), path)
    before = path.read_bytes()

    def fail(*_):
        raise error

    monkeypatch.setattr(archive if step == "directory" else os, step, fail)
    with pytest.raises(type(error)) as caught:
        save(fitted, path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
    if isinstance(error, OSError):
        assert caught.value.filename == str(path)


def test_links_and_rights_are_kept(fitted, path):
    real = path.with_name("real.npz")
    save(EFCMLClassifier(), real)
    real.chmod(0o600)
    path.symlink_to(real)
    save(fitted, path)
    assert path.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert freeze(load(real)) == freeze(fitted)


def test_files_of_the_first_format_load_and_are_not_split():
    ds = datasets.load("drifting-clusters-2d", n=300)
    clf = load(DATA / "format_1.npz")
    expected = [[0.439142, -0.257609], [0.462794, -0.271829]]  # as the version that wrote it said
    assert_allclose(clf.decision_function(ds.X[290:292])[:, :2], expected, atol=2e-6)
    assert (clf.splitting, clf.least_share) == ("off", 0.0)
    clf.partial_fit(ds.X[250:], ds.Y[250:])
    assert clf.learner_.counts["splits"] == 0


def test_files_of_the_second_format_load_go_on_and_can_be_read():
    ds = datasets.load("drifting-clusters-2d", n=300)
    clf = load(DATA / "format_2.npz")
    expected = [[0.4400964, -0.4435661], [0.4209501, -0.4042982]]  # as that version said
    assert_allclose(clf.decision_function(ds.X[290:292])[:, :2], expected, atol=2e-7)
    rules = clf.learner_.rules
    assert not rules.decided.any()
    by_use = sorted(rules.use / rules.use.sum(), reverse=True)
    assert_allclose([rule.decides for rule in clf.rules_], by_use)
    clf.partial_fit(ds.X[250:], ds.Y[250:])
    expected = [[0.4581172, -0.3399446], [0.4711162, -0.3319607]]
    assert_allclose(clf.decision_function(ds.X[290:292])[:, :2], expected, atol=2e-7)
    assert sum(rule.decides for rule in clf.rules_) == pytest.approx(1.0)
    assert clf.learner_.rules.decided.sum() == pytest.approx((1 - 0.998**50) * 500)


AS_BEFORE = {"splitting": "off", "split_share": 1.0, "least_share": 0.0, "provisional": False}
AS_BEFORE |= {"scaling": "frozen", "caution": False, "time": False}
NEW_FACTS = {*AS_BEFORE, "splits", "shared", "renewal", "columns", "evidence", "drifts", "n_recent"}


def test_old_headers_become_those_of_a_model_without_the_new_parts(path):
    X, Y = stream(25)
    warming_up = EFCMLClassifier(**QUICK | AS_BEFORE).partial_fit(X[:3], Y[:3])
    for model in (ChainEFC(**QUICK | AS_BEFORE).fit(X, Y), warming_up):
        save(model, path)
        with zipfile.ZipFile(path) as file:
            text = file.read("header.json")
        header = json.loads(text)
        assert up_to_date(header) is header
        old = json.loads(
            text, object_hook=lambda d: {k: v for k, v in d.items() if k not in NEW_FACTS}
        )
        old["format_version"] = 1
        kept = copy.deepcopy(old)
        assert up_to_date(old)["content"] == header["content"] != old["content"]
        assert old == kept  # its hash is taken later
