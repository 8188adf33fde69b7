"""ScoreCalibration: probabilities from scores, learned on the way (how_it_works.md 10)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from efcml.kernels.calibrate import (
    LEAST_SLOPE,
    LEAST_VARIANCE,
    MIDDLE,
    OWN_PRIOR,
    SHARED_PRIOR,
    STRETCH,
    calibrate_row,
    learn_calibration,
)
from efcml.model.arguments import Calibration
from efcml.model.kept_arrays import KeptArrays
from efcml.model.label_fields import CALIBRATION_FIELDS, CALIBRATION_SCRATCH

if TYPE_CHECKING:
    from efcml.support.aliases import Bools, Floats, Sizes

ROUNDS = 15  # Newton steps of a batch; it has settled long before
HALVINGS = 10  # of a step that makes things worse
# The shared curve before any row: near .5 a score is its own probability.
START = np.array([0.0, 1.0])


class ScoreCalibration(KeptArrays):
    """One logistic curve for all labels, and how that of each differs."""

    FIELDS, SCRATCH, BUNDLE = CALIBRATION_FIELDS, CALIBRATION_SCRATCH, Calibration

    def __init__(self, n_labels: int) -> None:
        self._begin(self.sizes_of(n_labels))
        self.arrays.shared[:] = START
        self.arrays.shared_information[[0, 2]] = SHARED_PRIOR
        self.arrays.own_information[:, [0, 2]] = OWN_PRIOR

    @staticmethod
    def sizes_of(n_labels: int) -> Sizes:
        """Return the lengths of the dimensions of the tables."""
        return {"K": n_labels}

    def add_labels(self, count: int) -> None:
        """Take in labels that have the shared curve so far."""
        self._grow(count, "K")
        self.arrays.own_information[-count:, [0, 2]] = OWN_PRIOR

    def begin(self, scores: Floats, Y: Floats) -> None:
        """Start from scores (n, K) of a batch, those without the own row; Y is NaN if unknown."""
        arrays, known = self.arrays, ~np.isnan(Y)
        problem = _Batch(STRETCH * (scores - MIDDLE), np.where(known, Y, 0.0), known)
        for _ in range(ROUNDS):
            move, total = problem.shared_step(arrays.shared, arrays.own)
            loss = partial(problem.loss, own=arrays.own)
            arrays.shared[:] = shorten_step(loss, arrays.shared, move)
            arrays.shared_information[:] = total[0, 0], total[0, 1], total[1, 1]
            moves, own = problem.own_steps(arrays.shared, arrays.own)
            loss = partial(problem.loss, arrays.shared)
            arrays.own[:] = shorten_step(loss, arrays.own, moves)
            arrays.own_information[:] = np.stack([own[:, 0, 0], own[:, 0, 1], own[:, 1, 1]], axis=1)

    def note(self, scores: Floats, y: Floats) -> None:
        """Learn from a row: scores (K,) from before it was learned, and labels, NaN if unknown."""
        known = ~np.isnan(y)
        if known.any():
            learn_calibration(scores, y, known, self.arrays)

    def probabilities(self, scores: Floats, sharpness: Floats | None = None) -> Floats:
        """Return probabilities (n, K); ``sharpness`` is what known labels add to them."""
        found = np.empty_like(scores)
        if sharpness is None:
            sharpness = np.ones_like(scores)
        for t in range(len(scores)):
            calibrate_row(scores[t], sharpness[t], self.arrays, found[t])
        return found


def shorten_step(loss: Callable[[Floats], float], start: Floats, move: Floats) -> Floats:
    """Return where a step leads, halved until nothing is lost; the start if it never is."""
    before, share = loss(start), 1.0
    for _ in range(HALVINGS):
        if loss(start + share * move) <= before:
            return start + share * move
        share /= 2.0
    return start


class _Batch:
    """The loss of a calibration on rows, and its derivatives by the curves of the labels."""

    def __init__(self, features: Floats, Y: Floats, known: Bools) -> None:
        self.features, self.Y, self.known = features, Y, known

    def logits(self, shared: Floats, own: Floats) -> Floats:
        """Return the logits (n, K)."""
        curves = shared + own
        return curves[:, 0] + np.maximum(curves[:, 1], LEAST_SLOPE) * self.features

    def loss(self, shared: Floats, own: Floats) -> float:
        """Return what is minimised: log loss, and the distance from the prior."""
        logits = self.logits(shared, own)
        losses = np.logaddexp(0.0, logits) - self.Y * logits
        held = SHARED_PRIOR * ((shared - START) ** 2).sum() + OWN_PRIOR * (own**2).sum()
        return float(losses[self.known].sum() + 0.5 * held)

    def shared_step(self, shared: Floats, own: Floats) -> tuple[Floats, Floats]:
        """Return the Newton step of the shared curve, and its information (2, 2)."""
        gradient, curvature = self._slopes(shared, own)
        information = curvature.sum(axis=0) + SHARED_PRIOR * np.eye(2)
        pull = gradient.sum(axis=0) - SHARED_PRIOR * (shared - START)
        return np.linalg.solve(information, pull), information

    def own_steps(self, shared: Floats, own: Floats) -> tuple[Floats, Floats]:
        """Return the Newton steps (K, 2) of the labels' own curves, and their information."""
        gradient, curvature = self._slopes(shared, own)
        information = curvature + OWN_PRIOR * np.eye(2)
        pull = gradient - OWN_PRIOR * own
        steps = np.linalg.solve(information, pull[..., None]).astype(np.float64)
        return steps[..., 0], information

    def _slopes(self, shared: Floats, own: Floats) -> tuple[Floats, Floats]:
        """Return minus the gradient (K, 2) of the log loss, and its curvature (K, 2, 2)."""
        p = 1.0 / (1.0 + np.exp(-np.clip(self.logits(shared, own), -35.0, 35.0)))
        gaps = np.where(self.known, self.Y - p, 0.0)
        variances = np.where(self.known, np.maximum(p * (1.0 - p), LEAST_VARIANCE), 0.0)
        gradient = np.stack([gaps.sum(axis=0), (gaps * self.features).sum(axis=0)], axis=1)
        powers = [(variances * self.features**power).sum(axis=0) for power in range(3)]
        curvature = np.stack([np.stack(powers[:2], axis=1), np.stack(powers[1:], axis=1)], axis=1)
        return gradient, curvature
