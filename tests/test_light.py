"""Estimators without scikit-learn, and how they become its estimators when it is loaded.

Each part runs in a process of its own, as this one has scikit-learn already.
"""

import json
import os
import pickle
import random
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.cli_files import PATH
from helpers.models import QUICK, freeze, stream
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import validate_data

import efcml
from efcml.estimators import light
from efcml.estimators.features import check_table
from efcml.estimators.light import LightBase
from efcml.estimators.seeds import read_random_state
from efcml.estimators.targets import is_pair

HEAVY = {"sklearn", "pandas", "matplotlib", "scipy.stats", "joblib", "IPython"}
START = """
import json, pickle, sys
import numpy as np
import efcml
from efcml import ChainEFC, EFCMLClassifier, OneVsRestEFC, prequential
random = np.random.default_rng(0)
X = random.normal(size=(40, 2))
Y = (X @ [[1.0, -1.0, 0.5], [0.5, 1.0, 1.0]] > 0.0).astype(float)
quick = dict(prior=1.0, max_rules=3)
clf = EFCMLClassifier(**quick)
"""


def run(code, cwd=None):
    """Run code after the start, in another process; return what it left in ``told``."""
    ended = "\nprint(json.dumps([told, [*sys.modules]]), file=sys.stderr)"
    command = [sys.executable, "-W", "error", "-c", START + code + ended]
    env = os.environ | {"PYTHONPATH": PATH}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stderr.splitlines()[-1])


LIGHT = {
    "import": "",
    "fit": "clf.fit(X, Y)",
    "lists": "clf.fit(X.tolist(), Y.tolist()).predict(X.tolist())",
    "whole numbers": "clf.fit(X > 0, Y.astype(int)).predict(np.float32(X))",
    "unknown labels": "clf.fit(X, np.where(X[:, :1] > 1.0, np.nan, Y)).predict_proba(X)",
    "masked labels": "clf.fit(X, np.ma.array(Y, mask=Y > 2.0))",
    "stream": "clf.set_params(warmup_rows=5).partial_fit(X[:9], Y[:9]).partial_fit(X[9:], Y[9:])",
    "flat": "clf.fit(X, Y[:, 0]).predict(X); clf.score(X, Y[:, 0])",
    "flat words": "clf.fit(X, np.where(Y[:, 0] > 0, 'yes', 'no')).predict_proba(X)",
    "score": "clf.fit(X, Y).score(X, Y); clf.decision_function(X)",
    "prequential": "prequential(clf.fit(X, Y), X, Y).trend('pa')",
    "delay": "prequential(clf.fit(X, Y), X, Y, delay=3)",
    "late labels": "clf.fit(X, Y).add_labels(2)",
    "parameters": "clf.set_params(**clf.get_params()); repr(clf); repr(EFCMLClassifier.paper())",
    "seed": "clf.set_params(random_state=3).fit(X, Y)",
    "explain": "str(clf.fit(X, Y).rules_); str(clf.explain(X[0]))",
    "names": "clf.fit(X, Y).name_columns(['a', 'b'], ['u', 'v', 'w'])",
    "pickle": "pickle.loads(pickle.dumps(clf.fit(X, Y))).predict(X)",
    "files": "efcml.save(clf.fit(X, Y), 'm.npz'); efcml.load('m.npz').predict(X)",
    "rivals": "[kind(**quick).fit(X, Y).predict(X) for kind in (OneVsRestEFC, ChainEFC)]",
    "chain": "ChainEFC(order='random', random_state=1, **quick).fit(X, Y).predict(X)",
    "active": "prequential(clf.fit(X, Y), X, Y, active=efcml.ActiveLearner(0.3))",
}


def test_arrays_need_no_scikit_learn(tmp_path):
    steps = ["clf = EFCMLClassifier(**quick)", "{}", "told.append([{!r}, [*sys.modules]])"]
    lines = [
        step.format(code if step == "{}" else name)
        for name, code in LIGHT.items()
        for step in steps
    ]
    told, _ = run("told = []\n" + "\n".join(lines), tmp_path)
    assert [name for name, _ in told] == [*LIGHT]
    assert {name: HEAVY & {*modules} for name, modules in told} == dict.fromkeys(LIGHT, set())


def test_import_loads_few_modules():
    """An upper bound, as seconds depend on the machine: numpy, and little besides.

    Of the standard library numpy loads more or less itself, as its version has it.
    """

    def modules_after(statement):
        code = f"import sys\n{statement}\nprint(*sys.modules)"
        env = os.environ | {"PYTHONPATH": PATH}
        names = subprocess.check_output([sys.executable, "-c", code], env=env, text=True).split()
        return {name for name in names if name.partition(".")[0] not in sys.stdlib_module_names}

    more = modules_after("from efcml import EFCMLClassifier") - modules_after("import numpy")
    assert not {"numba", "scipy"} & more
    assert len(more) < 60


# -- scikit-learn comes later ---------------------------------------------------------------

LATER = {
    "base": "import sklearn.base",
    "pipeline": "from sklearn.pipeline import make_pipeline",
    "looked for": "import importlib.util as u; u.find_spec('sklearn.base'); import sklearn.base",
    "needed for a frame": "import pandas; clf.fit(pandas.DataFrame(X), Y)",
    "needed for an error": """
try:
    clf.predict(X)
except ValueError as error:
    assert type(error).__name__ == "NotFittedError", error
""",
    "needed for a picture": "clf._repr_mimebundle_()",
    "needed for tags": "clf.__sklearn_tags__()",
}
ASK = """
from sklearn.base import BaseEstimator, ClassifierMixin
told = [isinstance(model, BaseEstimator) and isinstance(model, ClassifierMixin)
        for model in (clf, mine, EFCMLClassifier(), OneVsRestEFC())]
told.append([kind.__name__ for kind in Mine.__mro__])
told.append(sum(type(finder).__name__ == "Watch" for finder in sys.meta_path))
told.append(type(sys.modules["sklearn.base"].__loader__).__name__)
told.append(type(sys.modules["sklearn.base"].__spec__.loader).__name__)
"""


@pytest.mark.parametrize("code", LATER.values(), ids=LATER)
def test_estimators_become_those_of_scikit_learn(code):
    mine = "class Mixin: pass\nclass Mine(Mixin, EFCMLClassifier): pass\nmine = Mine(**quick)\n"
    (*same, mro, watches, loader, spec_loader), _ = run(mine + code + ASK)
    assert same == [True] * 4
    face = [kind.__name__ for kind in efcml.EFCMLClassifier.__mro__]
    assert mro == ["Mine", "Mixin", *face]
    assert (watches, loader, spec_loader) == (0, "SourceFileLoader", "SourceFileLoader")


def test_loaded_before_it_is_the_same():
    assert efcml.EFCMLClassifier.__mro__.index(BaseEstimator)
    assert LightBase not in efcml.EFCMLClassifier.__mro__
    assert issubclass(efcml.ChainEFC, ClassifierMixin)


WORK = """
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn import config_context
flat = Y[:, 0].astype(int)
model = pickle.loads(before)
told = [(clone(clf).fit(X, Y).predict(X) == labels).all().item()]
told.append((model.predict(X) == labels).all().item())
search = GridSearchCV(make_pipeline(StandardScaler(), clf), {"efcmlclassifier__alpha": [0.0, 0.1]})
told.append(search.fit(X, Y).predict(X).shape == Y.shape)
union = make_pipeline(FeatureUnion([("a", StandardScaler()), ("b", StandardScaler())]), clone(clf))
told.append(union.fit(X, Y).predict(X).shape == Y.shape)
told.append(cross_validate(clf, X, Y, cv=KFold(2), error_score="raise")["test_score"].shape == (2,))
for wrap in (MultiOutputClassifier, ClassifierChain):
    told.append(wrap(clf).fit(X, Y.astype(int)).predict(X).shape == Y.shape)
for wrap in (StackingClassifier, VotingClassifier):
    told.append(wrap([("one", clf), ("two", mine)]).fit(X, flat).predict(X).shape == flat.shape)
told.append("EFCMLClassifier" in union._repr_html_())
with config_context(enable_metadata_routing=True):
    told.append(clf.set_score_request(sample_weight=True) is clf)
    told.append(mine.set_score_request(sample_weight=True) is mine)
told.append(repr(mine) == text)
told.append((pickle.loads(pickle.dumps(clf)).predict(X) == labels).all().item())
"""


def test_tools_take_estimators_from_before():
    early = """
class Mine(EFCMLClassifier):
    pass
sys.modules["__main__"].Mine = Mine
mine = Mine(**quick)
text = repr(mine)
before = pickle.dumps(clf.fit(X, Y))
labels = clf.predict(X)
assert "sklearn" not in sys.modules
"""
    told, _ = run(early + WORK)
    assert told == [True] * 14


def test_threads_may_load_it_while_others_learn():
    code = """
import threading
clf.fit(X, Y)
first, errors = clf.predict(X), []
def work():
    try:
        for _ in range(30):
            repr(EFCMLClassifier(**quick).set_params(alpha=0.2))
            assert (clf.predict(X) == first).all()
    except BaseException as error:
        errors.append(repr(error))
def load():
    import sklearn.base
    if not isinstance(clf, sklearn.base.BaseEstimator):
        errors.append("not taken")
threads = [threading.Thread(target=task) for task in (work, load, load, work)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
told = errors
"""
    assert run(code)[0] == []


def test_pickles_go_both_ways(tmp_path):
    model = efcml.EFCMLClassifier(**QUICK).fit(*stream())
    (tmp_path / "with.pkl").write_bytes(pickle.dumps(model))
    code = """
model = pickle.load(open("with.pkl", "rb"))
pickle.dump(model, open("without.pkl", "wb"))
told = "sklearn" in sys.modules
"""
    assert run(code.replace("open(", "__builtins__.open("), tmp_path)[0] is False
    assert freeze(pickle.loads((tmp_path / "without.pkl").read_bytes())) == freeze(model)


# -- the same as scikit-learn's -------------------------------------------------------------


def light_twin(kind):
    """Return a class with the same name and parameters on the light base."""
    return type(kind.__name__, (LightBase,), {"__init__": kind.__init__})


@pytest.mark.parametrize("kind", [efcml.EFCMLClassifier, efcml.ChainEFC])
def test_texts_are_those_of_scikit_learn(kind, monkeypatch):
    class Full:
        def __repr__(self):
            return repr(kind(**self.get_params()))

    monkeypatch.setattr(light, "scikit_learn", lambda: SimpleNamespace(BaseEstimator=Full))
    draw = random.Random(1)
    twin = light_twin(kind)
    values = [None, True, 3, -1, 0.25, 1e-300, 123456.789012345, "auto", "it's", "long " * 8]
    values += [float("nan"), np.float64(0.5), [2, 1], np.arange(3), "x" * 90]
    names = kind().get_params()
    for count in [*range(len(names)), *range(len(names))] * 4:
        chosen = draw.sample(sorted(names), count)
        changes = {name: draw.choice(values[: draw.choice([8, 9, 15])]) for name in chosen}
        assert repr(twin(**changes)) == repr(kind(**changes))
    assert repr(twin()) == f"{kind.__name__}()"


@pytest.mark.parametrize("kind", [efcml.EFCMLClassifier, efcml.OneVsRestEFC, efcml.ChainEFC])
def test_parameters_are_those_of_scikit_learn(kind):
    twin, model = light_twin(kind)(alpha=0.3), kind(alpha=0.3)
    assert list(twin.get_params().items()) == list(model.get_params().items())
    assert twin.set_params(beta=0.7, prior=2.0) is twin
    assert twin.set_params() is twin
    assert twin.get_params(deep=False) == model.set_params(beta=0.7, prior=2.0).get_params()
    with pytest.raises(ValueError, match="Invalid parameter 'gamma' for estimator") as ours:
        twin.set_params(beta=1.0, gamma=1)
    with pytest.raises(ValueError, match="Invalid parameter") as theirs:
        model.set_params(beta=1.0, gamma=1)
    assert str(ours.value) == str(theirs.value)
    assert twin.get_params() == model.get_params()


def test_odd_signatures_are_left_to_scikit_learn():
    class Odd(LightBase):
        def __init__(self, *many):
            pass

    with pytest.raises(RuntimeError, match="no varargs"):
        Odd().get_params()
    assert light_twin(efcml.rivals.LabelFrequencies)().get_params() == {}


def test_parameters_of_parameters():
    class Outer(LightBase):
        def __init__(self, inner=None):
            self.inner = inner

    outer = Outer(efcml.EFCMLClassifier(alpha=0.3))
    assert outer.get_params()["inner__alpha"] == 0.3
    assert list(outer.get_params(deep=False)) == ["inner"]
    assert outer.set_params(inner__alpha=0.4).inner.alpha == 0.4


class Bare(BaseEstimator):
    """An estimator that only notes columns."""


TABLES = [
    [[1, 2], [3, 4]],
    ((1.5, 2), (True, 4)),
    [[2**62 + 1, 1], [3, -1]],
    [[True, False]],
    np.array([[1.5, 2.0]], dtype=">f8"),
    np.array([[1.5, 2.0]], dtype=np.float16),
    np.array([[2**64 - 1, 1]], dtype=np.uint64),
    np.asfortranarray(np.arange(6.0).reshape(3, 2)),
    np.arange(12.0).reshape(2, 6)[:, ::3],
    np.arange(6.0).reshape(3, 2),
    np.array([[1, 2.5]], dtype=object),
    [["1", "2"]],
]


@pytest.mark.parametrize("X", TABLES, ids=range(len(TABLES)))
def test_tables_become_what_scikit_learn_makes_of_them(X):
    ours, theirs = Bare(), Bare()
    found = check_table(ours, X, reset=True)
    wanted = validate_data(theirs, X, dtype=np.float64, order="C", ensure_all_finite=False)
    np.testing.assert_array_equal(found, wanted, strict=True)
    assert found.flags.c_contiguous
    assert (found is X) == (wanted is X)
    assert vars(ours) == vars(theirs) == {"n_features_in_": 2}
    np.testing.assert_array_equal(check_table(ours, X, reset=False), wanted, strict=True)


def test_names_are_forgotten_with_a_new_fit():
    bare = Bare()
    bare.feature_names_in_ = np.array(["a", "b"], dtype=object)
    bare.n_features_in_ = 2
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        check_table(bare, np.ones((1, 2)), reset=False)
    check_table(bare, np.ones((1, 3)), reset=True)
    assert vars(bare) == {"n_features_in_": 3}


@pytest.mark.parametrize(
    ("y", "pair"),
    [
        ([0, 1, 1], True),
        ([0.0, 1.0], True),
        ([True, False], True),
        (["a", "b"], True),
        ([5], True),
        ([0, 1, 2], False),
        ([0.5, 1.0], False),
        (np.array(["a", "b"], dtype=object), False),
    ],
)
def test_pairs_of_classes(y, pair):
    assert is_pair(np.asarray(y)) == pair


def test_seeds_are_those_of_scikit_learn():
    state = np.random.RandomState(3)
    assert read_random_state(state) is state
    assert read_random_state(7).randint(1000) == np.random.RandomState(7).randint(1000)
    assert read_random_state(np.int64(7)).randint(1000) == read_random_state(7).randint(1000)
    for wrong in (-1, "seed", 0.5):
        with pytest.raises(ValueError, match="seed|Seed"):
            read_random_state(wrong)
