"""Every parameter is checked, and its error names it and what is allowed."""

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.streams import PARAMETERS, make_params
from numpy.testing import assert_allclose

from efcml.model.params import CORRELATIONS, Params

pytestmark = pytest.mark.plain

NAN, INF = math.nan, math.inf

# name: (what the message says is allowed, values that are refused, values that are not)
RANGES = {
    "vigilance": ("> 0", [0, -1.0, NAN, INF, "much", None, True], [0.1, 4, np.float64(2.0)]),
    "alpha": (">= 0 and <= 1e+09", [-1e-9, 2e9, NAN, INF, "x"], [0, 0.5]),
    "beta": (">= 0 and <= 1e+09", [-1e-9, 2e9, NAN, INF, None], [0, 0.5]),
    "correlation": (
        "'shift', 'laplacian', 'signed', 'paper', 'none'",
        ["Shift", 1, None],
        ["none"],
    ),
    "bandwidth": (
        "'dimension' or a number >= 1e-09",
        [0, 1e-300, -1, "p", NAN, INF],
        ["dimension", 1, 0.5],
    ),
    "activation": ("'density', 'distance'", ["Density", 1, None], ["density", "distance"]),
    "lipschitz": ("'exact', 'paper'", ["sqrt", True, 0], ["exact", "paper"]),
    "step_interval": ("number >= 0", [-0.1, NAN, INF, "1", None, True], [0.0, 1, 2.5]),
    "n_steps": ("whole number >= 1", [0, 1.0, 1.5, True, "1", NAN], [1, 5, np.int64(2)]),
    "forgetting": ("> 0 and <= 1", [0, -0.5, 1.001, NAN, "slow"], [1, 0.5, 1e-3]),
    "prior": (
        "'auto' or a number >= 1e-09 and <= 1e+09",
        [0, 1e-30, 1e300, -1.0, "Auto", NAN, INF],
        ["auto", 10, 0.1],
    ),
    "birth_width": (">= 1e-09 and <= 1e+09", [0.0, 1e-30, 1e30, -1.0, NAN, INF], [0.01, 5]),
    "variance_floor": (">= 0 and <= 1e+09", [-0.1, 1e30, NAN, INF], [0, 1.0]),
    "merging": ("True or False", ["yes", None, 2], [True, False, np.True_]),
    "merge_overlap": ("> 0 and <= 1", [0.0, 1.1, NAN], [1, 0.2]),
    "merge_volume": ("'paper' or a number > 0", [0.0, "p", INF], ["paper", 1.2, Fraction(3, 2)]),
    "merge_consequents": ("'exact', 'paper'", ["mean", None], ["exact", "paper"]),
    "product_space": ("True or False", ["joint", None], [True, False]),
    "max_rules": ("whole number >= 1", [0, -3, 10.0, True, INF], [1, 500]),
    "activation_floor": (">= 0 and < 1", [-1e-9, 1.0, NAN], [0, 0.5]),
    "clip": ("> 0 and <= 1e+09", [0.0, -6, 1e300, INF, NAN], [6, 1e9]),
    "warmup_rows": ("whole number >= 1", [0, 2.5, True], [1, 1000]),
    "birth_learning": ("True or False", ["no", 3], [True, False]),
    "birth_plane": ("'nearest', 'blend'", ["mean", None], ["blend", "nearest"]),
    "cases": ("whole number from 0 to 2000", [-1, 2001, 10.0, True, None], [0, 1, 2000]),
    "case_width": (">= 1e-09", [0.0, 1e-310, -1.0, NAN, INF], [0.01, 5]),
    "case_noise": (">= 0.0001", [0.0, -1.0, 1e-10, 9e-5, NAN, INF], [1e-4, 0.01, 5]),
    "weight_limit": ("> 0", [0, -1, NAN, -INF], [1e6, INF]),
}
REFUSED = [(name, value) for name, (_, bad, _) in RANGES.items() for value in bad]
ACCEPTED = [(name, value) for name, (_, _, good) in RANGES.items() for value in good]


def test_every_parameter_is_in_the_table():
    assert set(RANGES) == set(Params.names()) == set(PARAMETERS)


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_values_out_of_range_are_refused(name, value):
    with pytest.raises(ValueError) as caught:
        make_params(**{name: value})
    message = str(caught.value)
    assert message.startswith(f"{name} must be ")
    assert RANGES[name][0] in message
    assert repr(value) in message


@pytest.mark.parametrize(("name", "value"), ACCEPTED)
def test_values_in_range_are_kept(name, value):
    assert getattr(make_params(**{name: value}), name) == value


def test_defaults_are_allowed_and_frozen():
    params = Params()
    with pytest.raises(AttributeError):
        params.alpha = 1.0


@pytest.mark.parametrize("mode", CORRELATIONS)
def test_settings_have_plain_types(mode):
    params = make_params(correlation=mode, vigilance=2, beta=1, n_steps=np.int64(3))
    settings = params.settings(4, 3, 7)
    assert settings.correlation == CORRELATIONS[mode]
    assert settings.prior_slope == 7.0
    assert settings.n_steps == 3
    assert settings.vigilance == 2.0
    numbers = [value for name, value in settings._asdict().items() if name not in ("alpha", "beta")]
    assert {type(value) for value in numbers} <= {float, int, bool}
    assert settings.alpha.tolist() == [params.alpha]
    assert settings.beta.tolist() == [1.0]
    assert settings.corrects == (mode != "none")
    assert not make_params(alpha=0.0, beta=0.0).settings(4, 3, 7).corrects
    pairs = make_params(alpha=0.0, beta=0.0).settings(4, 3, 7, [(0.0, 1.0), (2.0, 0.0)])
    assert pairs.alpha.tolist() == [0.0, 2.0]
    assert pairs.beta.tolist() == [1.0, 0.0]
    assert pairs.alpha.flags.c_contiguous and pairs.beta.flags.c_contiguous
    assert pairs.corrects
    assert settings.exact_length
    assert not make_params(lipschitz="paper").settings(4, 3, 7).exact_length


def test_bandwidths():
    assert make_params(bandwidth="dimension").input_bandwidth(7) == 7.0
    assert make_params(bandwidth=3).input_bandwidth(7) == 3.0
    wide = make_params(bandwidth="dimension", merge_volume=1.5)
    assert_allclose(wide.merge_width(4, 2), 6.0)
    assert_allclose(wide.merge_log_volume(4, 2), 6.0 * math.log(1.5))
    flat = make_params(bandwidth=2.0, merge_volume=1.5, product_space=False)
    assert_allclose(flat.merge_width(4, 2), 2.0)
    assert_allclose(flat.merge_log_volume(4, 2), 2.0 * math.log(1.5))
    printed = make_params(bandwidth=2.0, merge_volume="paper")
    assert printed.merge_width(4, 2) == 1.0
    assert_allclose(printed.merge_log_volume(4, 2), math.log(4.0))


def test_forgetting_caps_the_support():
    assert make_params(forgetting=1.0).max_support == INF
    assert_allclose(make_params(forgetting=0.99).max_support, 100.0)
