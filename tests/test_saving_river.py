"""RiverEFCML in a file: it comes back with its names, and goes on bit for bit."""

import json

import numpy as np
import pytest
from helpers.models import freeze, stream
from test_river import LABELS, QUICK, STATES, RiverEFCML, dicts, learned

from efcml import load, save
from efcml.cli import main
from efcml.saving import expected, pack, unpack
from efcml.support.states import to_plain

pytest.importorskip("river")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


@STATES
def test_it_goes_on_bit_for_bit(rows, path):
    model = learned(rows)
    before = freeze(model)
    save(model, path)
    assert freeze(model) == before
    copy = load(path)
    assert type(copy) is RiverEFCML
    assert freeze(copy) == before
    for x, y in dicts(*stream(40)):
        assert copy.predict_proba_one(x) == model.predict_proba_one(x)
        model.learn_one(x, y)
        copy.learn_one(x, y)
    assert freeze(copy) == freeze(model)
    assert str(copy.rules) == str(model.rules)


def test_gaps_of_the_warm_up_and_names_that_are_numbers(path):
    model = RiverEFCML(**QUICK)
    model.learn_one({1: 2.0}, {7: True})
    model.learn_one({1: 1.0, "late": 3.0}, {7: False, "late": True})
    save(model, path)
    copy = load(path)
    assert (copy.feature_names, copy.label_names) == ((1, "late"), (7, "late"))
    assert freeze(copy.learner) == freeze(model.learner)
    assert np.isnan(copy.learner.held[0][0][1])


def test_features_that_came_too_late_are_still_counted(path):
    model = learned(40)
    (x, y), *_ = dicts(*stream(1))
    with pytest.warns(UserWarning, match="after the warm-up"):
        model.learn_one(x | {"new": 1.0}, y)
    save(model, path)
    copy = load(path)
    assert copy.unknown_features_ == {"new": 1}
    copy.learn_one(x | {"new": 1.0}, y)  # told before: no second warning
    assert copy.unknown_features_ == {"new": 2}


def test_parameters_come_back(path):
    save(RiverEFCML(vigilance=0.3, weight_limit=np.inf), path)
    copy = load(path)
    assert (copy.vigilance, copy.weight_limit) == (0.3, np.inf)
    assert copy.predict_one({"a": 1.0}) == {}


def test_names_that_no_file_can_hold(path):
    model = RiverEFCML(**QUICK)
    model.learn_one({("a", 1): 2.0}, {"u": True})
    with pytest.raises(ValueError, match="features must be words or whole numbers"):
        save(model, path)
    assert not path.exists()


LIES = {
    "a parameter": lambda facts: facts["params"].update(vigilance=-1.0),
    "another parameter": lambda facts: facts["params"].update(vigilance=0.123),
    "no parameter": lambda facts: facts["params"].pop("alpha"),
    "more": lambda facts: facts.update(more=1),
    "a name less": lambda facts: facts["learned"]["features"].pop(),
    "a label twice": lambda facts: facts["learned"].update(labels=["u", "u", "v"]),
    "a list as a name": lambda facts: facts["learned"].update(labels=["u", [], "v"]),
    "truth as a name": lambda facts: facts["learned"].update(labels=["u", True, "v"]),
    "no counts": lambda facts: facts["learned"].update(unknown=["new"]),
    "a negative count": lambda facts: facts["learned"].update(unknown=[["new", -1]]),
    "counted twice": lambda facts: facts["learned"].update(unknown=[["n", 1], ["n", 2]]),
    "another size": lambda facts: facts["learned"]["learner"].update(n_features=4),
    "nothing learned": lambda facts: facts["learned"].update(learner=None),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_refused(lie):
    facts, _ = pack(learned(40))
    facts = json.loads(json.dumps(facts))
    expected(facts)
    LIES[lie](facts)
    with pytest.raises(ValueError):
        expected(facts)


def test_values_are_checked():
    facts, arrays = pack(learned(40))
    arrays["learner/rules/center"] = arrays["learner/rules/center"] * np.nan
    with pytest.raises(ValueError, match="center holds NaN"):
        unpack(facts, arrays)
    facts, arrays = pack(learned(5))
    arrays["learner/held"][0, 0] = np.inf
    with pytest.raises(ValueError, match="held rows"):
        unpack(facts, arrays)


def test_infinity_is_written_as_a_word():
    facts, _ = pack(RiverEFCML(weight_limit=np.inf))
    assert facts["params"]["weight_limit"] == to_plain(np.inf)


def test_the_command_line_says_that_it_takes_no_tables(path, tmp_path, capsys):
    save(learned(40), path)
    assert main(["explain", str(path)]) == 2
    assert "the RiverEFCML in" in capsys.readouterr().err
    assert set(load(path).label_names) == set(LABELS)
