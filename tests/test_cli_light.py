"""What commands load: answers and errors that need no numba come without it.

Modules are looked at, not clocks: in a process of its own, after the command has ended.
"""

import json

import pytest
from helpers.cli_files import run_arguments, shell, write_csv

import efcml
from efcml.cli.settings import OFFERED, parameter_names
from efcml.rivals import make_model
from efcml.saving import load_fitted
from efcml.saving import tabular as estimators

SLOW = {"joblib", "matplotlib", "numba", "pandas", "scipy", "scipy.stats", "sklearn"}
CODE = """
import json, sys
from efcml.cli import main
try:
    ended = main()
except SystemExit as end:
    ended = end.code
print(json.dumps([ended or 0, [*sys.modules]]), file=sys.stderr)
"""


def ends(arguments, cwd):
    """Run a command; return its exit code, the slow modules it loaded, and whether numpy was."""
    done = shell(arguments, cwd, CODE)
    assert "Traceback" not in done.stderr
    code, modules = json.loads(done.stderr.splitlines()[-1])
    return code, SLOW & set(modules), "numpy" in modules


@pytest.fixture
def model_file(tmp_path):
    ds = efcml.datasets.from_csv(write_csv(tmp_path), 2, n_initial=24)
    model = efcml.EFCMLClassifier(prior=1.0, max_rules=3, vigilance=0.3).fit(*ds.initial)
    model.name_columns(ds.feature_names, ds.label_names)
    efcml.save(model, tmp_path / "model.npz")
    return tmp_path / "model.npz"


def named(value):
    """Return the name of a case: its arguments."""
    return " ".join(value) or "nothing" if isinstance(value, list) else str(value)


COMMANDS = ("run", "predict", "explain", "tune", "reproduce", "datasets")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["--help"], 0),
        *([[command, "--help"], 0] for command in COMMANDS),
        ([], 2),
        (["walk"], 2),
        (["run", "--nothing"], 2),
        (["tune", "emotions", "--grid", "long"], 2),
        (["predict", "no.npz", "songs.csv"], 2),
        (["predict", "songs.csv", "no.csv"], 2),
        (["explain", "no.npz"], 2),
        (["explain", "songs.csv", "--sample", "no.csv"], 2),
    ],
    ids=named,
)
def test_nothing_is_loaded(arguments, code, tmp_path):
    write_csv(tmp_path)
    assert ends(arguments, tmp_path) == (code, set(), False)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["datasets"], 0),
        (["datasets", "info", "drifting-clusters"], 0),
        (["datasets", "info", "nothing"], 2),
        (["run", "nothing"], 2),
        (["run", "no.csv", "--labels", "2"], 2),
        (["run", "--set", "vigilanc=1"], 2),
        (["run", "--set", "vigilance=-1"], 2),
        (["run", "--unit", "labels"], 2),
        (["run", "--seed", "-1"], 2),
        (["run", "songs.csv", "--labels", "2", "--initial", "44"], 2),
        (["tune", "nothing"], 2),
        (["tune", "no.csv", "--labels", "2"], 2),
        (["tune", "songs.csv", "--labels", "9"], 2),
        (["tune", "songs.csv", "--labels", "2", "--beta", "x"], 2),
        (["tune", "songs.csv", "--labels", "2", "--folds", "1"], 2),
        (["tune", "songs.csv", "--labels", "2", "--jobs", "0"], 2),
        (["reproduce", "nothing"], 2),
        (["predict", "songs.csv", "songs.csv"], 2),
        (["explain", "songs.csv"], 2),
    ],
    ids=named,
)
def test_numpy_is_enough(arguments, code, tmp_path):
    write_csv(tmp_path)
    assert ends(arguments, tmp_path)[:2] == (code, set())


def test_predict_loads_the_learner_alone(model_file):
    arguments = ["predict", model_file, model_file.parent / "songs.csv"]
    assert ends(arguments, model_file.parent)[:2] == (0, {"numba", "scipy"})


def test_explain_loads_no_pictures(model_file):
    assert ends(["explain", model_file], model_file.parent)[:2] == (0, {"numba", "scipy"})


def test_run_needs_no_scikit_learn(tmp_path):
    arguments = run_arguments(write_csv(tmp_path), "--out", tmp_path / "out")
    code, loaded, _ = ends(arguments, tmp_path)
    assert (code, loaded & {"sklearn", "pandas", "scipy.stats"}) == (0, set())


@pytest.mark.parametrize("model", OFFERED)
def test_parameters_that_can_be_set_are_those_of_the_model(model):
    assert [*parameter_names(model), "random_state"] == sorted(
        make_model(model).get_params(), key=lambda name: (name == "random_state", name)
    )


@pytest.mark.parametrize("kind", estimators.LEARNERS)
def test_parameters_in_files_are_those_of_the_estimator(kind):
    names = getattr(efcml, kind)().get_params()
    assert sorted(estimators.parameter_names(kind)) == sorted(names)


def test_what_was_learned_is_what_the_estimator_has(model_file):
    model = efcml.load(model_file)
    kind, fitted = load_fitted(model_file)
    assert kind == "EFCMLClassifier"
    assert {*fitted} == {*vars(model)} - {*model.get_params()}
    X = [[0.5, -0.5], [1.0, 2.0]]
    assert (fitted["learner_"].score(X) == model.learner_.score(X)).all()


def test_a_new_estimator_has_learned_nothing(tmp_path):
    efcml.save(efcml.ChainEFC(), tmp_path / "m.npz")
    assert load_fitted(tmp_path / "m.npz") == ("ChainEFC", {})
    efcml.save(efcml.ActiveLearner(0.1), tmp_path / "m.npz")
    assert load_fitted(tmp_path / "m.npz") == ("ActiveLearner", None)
