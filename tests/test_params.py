"""Every parameter is checked, and its error names it and what is allowed."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction
from inspect import signature

import numpy as np
import pytest
from helpers.ranges import FACTS, accepted, refused
from helpers.streams import make_params
from numpy.testing import assert_allclose

from efcml import ChainEFC, EFCMLClassifier, OneVsRestEFC
from efcml.model.params import CORRELATIONS, Params
from efcml.model.steering import settings_of
from efcml.support.declared import printed

INF = math.inf
REFUSED = [(name, value) for name in FACTS for value in refused(name)]
ACCEPTED = [(name, value) for name in FACTS for value in accepted(name)]
# One of each kind, word for word.
MESSAGES = [
    ("vigilance", "high", "vigilance must be a number > 0; got 'high'."),
    ("beta", INF, "beta must be a number >= 0 and <= 1e+09; got inf."),
    ("bandwidth", 0, "bandwidth must be 'dimension' or a number >= 1e-09; got 0."),
    ("forgetting", 1.01, "forgetting must be 'auto' or a number > 0 and <= 1; got 1.01."),
    ("activation_floor", 1.0, "activation_floor must be a number >= 0 and < 1; got 1.0."),
    ("n_steps", 1.5, "n_steps must be a whole number >= 1; got 1.5."),
    ("cases", -1, "cases must be a whole number from 0 to 2000; got -1."),
    ("merging", "yes", "merging must be True or False; got 'yes'."),
    ("lipschitz", "none", "lipschitz must be one of 'exact', 'paper'; got 'none'."),
]


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_values_out_of_range_are_refused(name, value):
    with pytest.raises(ValueError) as caught:
        make_params(**{name: value})
    message = str(caught.value)
    assert message.startswith(f"{name} must be ")
    assert message.endswith(f"; got {value!r}.")


@pytest.mark.parametrize(("name", "value", "message"), MESSAGES)
def test_messages(name, value, message):
    with pytest.raises(ValueError) as caught:
        make_params(**{name: value})
    assert str(caught.value) == message


@pytest.mark.parametrize(("name", "value"), ACCEPTED)
def test_values_in_range_are_kept(name, value):
    assert getattr(make_params(**{name: value}), name) == value


@pytest.mark.parametrize("value", [np.float64(2.0), np.float32(0.5), Fraction(3, 2), 1])
def test_all_kinds_of_numbers_will_do(value):
    assert make_params(merge_volume=value).merge_volume == value
    assert make_params(n_steps=np.int64(2)).n_steps == 2


def test_defaults_and_printed_values_are_allowed():
    Params(**printed(Params))


def test_values_stay_and_can_be_compared():
    params = Params(alpha=0.5)
    with pytest.raises(AttributeError, match="alpha cannot be changed"):
        params.alpha = 1.0
    again = pickle.loads(pickle.dumps(params))
    assert params == again == replace(Params(), alpha=0.5) != Params()
    assert hash(params) == hash(again)
    assert "alpha=0.5, " in repr(params)


@pytest.mark.parametrize("kind", [EFCMLClassifier, OneVsRestEFC, ChainEFC])
def test_estimators_show_every_parameter(kind):
    for name, facts in FACTS.items():
        default = signature(kind).parameters[name].default
        assert (
            f"\n{name} : {facts.kind}, default={default!r}\n    {facts.meaning[:30]}"
            in kind.__doc__
        )
    assert "{parameters}" not in kind.__doc__


@pytest.mark.parametrize("mode", CORRELATIONS)
def test_settings_have_plain_types(mode):
    params = make_params(correlation=mode, vigilance=2, beta=1, n_steps=np.int64(3))
    settings = settings_of(params, 4, 3, 7, 1)
    assert settings.correlation == CORRELATIONS[mode]
    assert settings.prior_slope == 7.0
    assert settings.split_share == 1.0
    assert settings.n_steps == 3
    assert settings.vigilance == 2.0
    named = zip(settings._fields, settings.values(), strict=True)
    numbers = [value for name, value in named if name not in ("alpha", "beta")]
    assert {type(value) for value in numbers} <= {float, int, bool}
    assert settings.alpha.tolist() == [params.alpha]
    assert settings.beta.tolist() == [1.0]
    assert settings.corrects == (mode != "none")
    assert not settings_of(make_params(alpha=0.0, beta=0.0), 4, 3, 7, 1).corrects
    pairs = settings_of(make_params(alpha=0.0, beta=0.0), 4, 3, 7, 1, [(0.0, 1.0), (2.0, 0.0)])
    assert pairs.alpha.tolist() == [0.0, 2.0]
    assert pairs.beta.tolist() == [1.0, 0.0]
    assert pairs.alpha.flags.c_contiguous and pairs.beta.flags.c_contiguous
    assert pairs.corrects
    assert settings.exact_length
    assert not settings_of(make_params(lipschitz="paper"), 4, 3, 7, 1).exact_length


def test_bandwidths():
    assert make_params(bandwidth="dimension").input_bandwidth(7) == 7.0
    assert make_params(bandwidth=3).input_bandwidth(7) == 3.0
    wide = make_params(bandwidth="dimension", merge_volume=1.5)
    assert_allclose(wide.merge_width(4, 2), 6.0)
    assert_allclose(wide.merge_log_volume(4, 2), 6.0 * math.log(1.5))
    flat = make_params(bandwidth=2.0, merge_volume=1.5, product_space=False)
    assert_allclose(flat.merge_width(4, 2), 4.0)
    assert_allclose(flat.merge_log_volume(4, 2), 4.0 * math.log(1.5))
    printed = make_params(bandwidth=2.0, merge_volume="paper")
    assert printed.merge_width(4, 2) == 1.0
    assert_allclose(printed.merge_log_volume(4, 2), math.log(4.0))


def test_forgetting_caps_the_support():
    assert make_params(forgetting=1.0).max_support == INF
    assert_allclose(make_params(forgetting=0.99).max_support, 100.0)
