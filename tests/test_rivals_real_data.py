"""Rivals and simple lines on the four small real sets: initial part fitted, rest test-then-train.

The marks of the least-squares lines have smaller ridges than cross-validation picks here (emotions
30 and not 300, water quality 30 and not 300, yeast 100 and not 1000). How they were chosen is not
known. A ridge that also holds the intercept cannot grow as far; with it, and without clipping,
emotions and yeast come out as marked, birds and water quality do not. Here the intercept is left
nearly free. Average precision is lower than the mark by .017 on emotions and .008 on water quality,
and not lower on the other two. With the ridges of the marks, all marks are met within .005.
"""

import numpy as np
import pytest
from test_real_data import load

from efcml import prequential
from efcml.rivals import MODELS, make_model

# Partial accuracy, average precision: the mark, then what this code gives.
SCORES = {
    ("frequencies", "emotions"): ((0.671, 0.582), (0.671, 0.582)),
    ("frequencies", "water-quality"): ((0.653, 0.569), (0.653, 0.569)),
    ("frequencies", "yeast"): ((0.767, 0.705), (0.767, 0.705)),
    ("frequencies", "birds"): ((0.949, 0.368), (0.949, 0.368)),
    ("rls", "emotions"): ((0.796, 0.810), (0.790, 0.793)),
    ("rls", "water-quality"): ((0.697, 0.658), (0.692, 0.650)),
    ("rls", "yeast"): ((0.802, 0.756), (0.801, 0.758)),
    ("rls", "birds"): ((0.959, 0.668), (0.958, 0.673)),
    ("rff", "emotions"): ((0.808, 0.829), (0.809, 0.821)),
    ("rff", "water-quality"): ((0.701, 0.661), (0.714, 0.688)),
    ("rff", "yeast"): ((0.804, 0.760), (0.807, 0.762)),
    ("rff", "birds"): ((0.959, 0.663), (0.961, 0.684)),
}
MOST_BELOW = 0.018  # the mark
CLOSE = 0.002

# With the ridge of the marks and the intercept left alone, the marks are met.
SAME_RIDGE = {"emotions": 30.0, "water-quality": 30.0, "yeast": 100.0, "birds": 300.0}

# One rule base per label takes long on the wider sets: there the prior is given, and the stream
# ends after some rows. The limits lie a little below what was measured.
QUICKER = {
    "emotions": {}, "water-quality": {}, "yeast": {"prior": 30.0, "max_rules": 15},
    "birds": {"prior": 100.0, "max_rules": 10},
}  # fmt: skip
ROWS = {"yeast": 100, "birds": 40}
LEAST = {
    ("ovr", "emotions"): (0.79, 0.80),
    ("ovr", "water-quality"): (0.70, 0.66),
    ("ovr", "yeast"): (0.79, 0.74),
    ("ovr", "birds"): (0.95, 0.57),
    ("chain", "emotions"): (0.78, 0.78),
    ("chain", "water-quality"): (0.69, 0.63),
    ("chain", "yeast"): (0.77, 0.70),
    ("chain", "birds"): (0.94, 0.60),
    ("static", "emotions"): (0.775, 0.775),
    ("rfwls", "emotions"): (0.795, 0.81),
}


def run(name, ds, **parameters):
    model = make_model(name, **parameters).fit(*ds.initial)
    return prequential(model, *ds.stream, learn=MODELS[name].learn)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dataset"), SCORES)
def test_simple_lines_are_near_their_marks(name, dataset):
    mark, expected = SCORES[name, dataset]
    result = run(name, load(dataset))
    assert np.abs(np.subtract((result.pa, result.ap), expected)).max() < CLOSE
    assert np.subtract(mark, (result.pa, result.ap)).max() < MOST_BELOW


@pytest.mark.slow
@pytest.mark.parametrize("dataset", SAME_RIDGE)
def test_with_the_ridge_of_the_marks_the_marks_are_met(dataset):
    mark, _ = SCORES["rls", dataset]
    result = run("rls", load(dataset), ridge=SAME_RIDGE[dataset])
    assert np.subtract((result.pa, result.ap), mark).min() > -0.005


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dataset"), LEAST)
def test_rivals_have_sensible_scores(name, dataset):
    ds = load(dataset)
    model = make_model(name, **QUICKER[dataset]).fit(*ds.initial)
    X, Y = (part[: ROWS.get(dataset)] for part in ds.stream)
    result = prequential(model, X, Y, learn=MODELS[name].learn)
    pa, ap = LEAST[name, dataset]
    assert result.pa >= pa
    assert result.ap >= ap
    per_model = make_model(name).max_rules
    assert result.rules.max() <= per_model * (ds.Y.shape[1] if name in ("ovr", "chain") else 1)
