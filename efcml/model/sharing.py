"""Planes that all rules share go on learning (how_it_works.md 4, "Shared planes").

Activations sum to one, so the sums of all rules together are those of all rows (but for what a
newborn misses of its own row): what every rule is held to can be solved for at any time, from what
the rules hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from efcml.model.definite import whole

if TYPE_CHECKING:
    from efcml.model.rulebase import RuleBase
    from efcml.support.aliases import Floats

GROWTH = 0.03  # of the number of rows, after which planes are shared anew
SPARED = 8  # rows for as many features, at least, since it costs the cube of these


def next_renewal(rows: int, n_features: int) -> int:
    """Return how many rows there are when the shared planes are derived next."""
    return rows + 1 + max(int(GROWTH * rows), n_features // SPARED)


def shared_planes(rules: RuleBase, Delta: Floats) -> Floats:
    """Return the planes of all rows at once, held to flat ones at the label means by ``Delta``."""
    planes = np.zeros((rules.n_labels, rules.n_features + 1))
    G, B = rules.G.sum(axis=0), rules.B.sum(axis=0)
    for group in range(rules.n_groups):
        labels = rules.labels_of(group)
        H, target = G[group] + np.diag(Delta), B[labels].copy()
        weight = G[group, -1, -1]
        if weight > 0.0:
            target[:, -1] += Delta[-1] * B[labels, -1] / weight
        planes[labels] = np.linalg.solve(H, target.T).T
    return planes


def share_planes(rules: RuleBase, planes: Floats) -> None:
    """Hold every rule to new planes.

    ``W`` moves by ``P Delta (new - old)``: so it would be, had the rule been held to them from the
    start. ``D`` stays as it is.
    """
    arrays = rules.arrays
    planes = np.tile(planes, (rules.n_pairs, 1))
    for r in range(rules.n_rules):
        for group, P in enumerate(whole(arrays.P[r])):
            labels = rules.planes_of(group)
            pull = (planes[labels] - arrays.W_prior[r, labels]) * arrays.Delta[r, group]
            arrays.W[r, labels] += pull @ P
        arrays.W_prior[r] = planes
