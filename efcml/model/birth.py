"""A rule is born (how_it_works.md 3, "Birth")."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from efcml.model.rulebase import RuleBase
    from efcml.support.aliases import Floats

LABEL_SPREAD = 0.5  # standard deviation of an even 0/1 label; its range is 1


def give_birth(
    rules: RuleBase,
    z: Floats,
    W: Floats,
    row_number: int,
    start_variance: Floats,
    prior_precision: Floats,
) -> int:
    """Append a rule centered on the joint row ``z`` and return its index.

    It starts with the variances ``start_variance`` (S_0) and the consequents ``W`` of the nearest
    rule, which are also its prior mean: until it has learned, it answers as its neighbour does.
    """
    rule = rules.append()
    arrays = rules.arrays
    p = rules.n_features
    arrays.center[rule] = z
    arrays.joint_precision[rule] = np.diag(1.0 / start_variance)
    arrays.input_precision[rule] = np.diag(1.0 / start_variance[:p])
    log_variance = np.log(start_variance)
    arrays.log_det[rule] = log_variance.sum(), log_variance[:p].sum()
    arrays.support[rule] = 1.0
    arrays.prior_share[rule] = 1.0
    arrays.P[rule] = np.diag(1.0 / prior_precision)
    arrays.Delta[rule] = prior_precision
    arrays.curvature[rule] = prior_precision.max()
    arrays.W[rule] = arrays.W_prior[rule] = W
    arrays.born[rule] = arrays.last_won[rule] = row_number
    # As if just tested: a newborn is as wide as S_0, so before it has samples of its own it would
    # look like a part of any neighbour.
    joint = rules.updates + 2
    arrays.tested[rule, : rules.n_rules] = joint
    arrays.tested[: rules.n_rules, rule] = joint
    return rule


def weigh_birth(rules: RuleBase, rule: int, weight: float) -> None:
    """Let the row that a rule was born from count for more than one, S_0 with it.

    So the Gaussians are the same if all weights are doubled. Not for less than one: the support of
    a rule tells how sure it is of its place, and S_0 is not for sure.
    """
    support = max(1.0, float(weight))
    rules.arrays.support[rule] = rules.arrays.prior_share[rule] = support


def start_variances(X: Floats, n_labels: int, width: float) -> Floats:
    """Return S_0 = f * range * std per joint coordinate; constant features count as spread 1.

    Missing values (NaN) do not count.
    """
    spread = np.ptp(X, axis=0) * X.std(axis=0)
    for j in np.flatnonzero(np.isnan(spread)):
        there = X[~np.isnan(X[:, j]), j]
        spread[j] = np.ptp(there) * there.std() if len(there) else 0.0
    spread = np.where(spread > 1e-6, spread, 1.0)
    return width * np.concatenate([spread, np.full(n_labels, LABEL_SPREAD)])
