"""What the initial rows decide, by cross-validating the rule model itself (how_it_works.md 4).

That is the prior of the planes, and how fine the rules are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from efcml.model import batch
from efcml.model.filling import rows_for
from efcml.model.rulebase import RuleBase
from efcml.support.folds import contiguous_folds, without

if TYPE_CHECKING:
    from efcml.model.params import Params
    from efcml.support.aliases import Floats

FormRules: TypeAlias = "Callable[[Floats, Floats, float], tuple[RuleBase, Any]]"

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
INTERCEPT_SHARE = 0.01  # delta_0 / delta: the intercept's prior is weak
FOLDS = 5
MOST_ROWS = 3000  # the newest rows are enough to tell orders of magnitude apart
COARSE, FINE = 0.3, 0.2  # shares of all rows at which rules are split, if nothing is given
REGIONS_PAY = 0.03  # less error than one plane for all rows: then the finer rules are taken


@dataclass(frozen=True)
class Prior:
    """How strongly the planes of a rule are held, and to what.

    They are held to flat planes at the label means, or, with a number for ``shared``, to the planes
    that are fitted to all rows at once, themselves held to the flat ones with that strength.
    """

    strength: float
    shared: float | None = None
    amounts: Floats | None = None  # weights of the rows

    def planes(self, X: Floats, Y: Floats) -> Floats:
        """Return what the planes of every rule are held to."""
        flat = batch.prior_planes(Y, X.shape[1], self.amounts)
        if self.shared is None:
            return flat
        rules = one_rule(X, Y, self.amounts)
        return ridge_weights(rules, 0, precision(self.shared, X.shape[1]), flat)


class Part(NamedTuple):
    """Rows to learn, and new ones; ``whole`` are those rows with gaps filled in."""

    X: Floats
    Y: Floats
    X_new: Floats
    Y_new: Floats
    whole: Floats
    whole_new: Floats


def precision(strength: float, n_features: int) -> Floats:
    """Return the diagonal of Delta."""
    diagonal = np.full(n_features + 1, float(strength))
    diagonal[-1] *= INTERCEPT_SHARE
    return diagonal


def choose_prior_and_share(
    form_rules: FormRules, X: Floats, Y: Floats, params: Params, whole: Floats
) -> tuple[Prior, float]:
    """Return how planes are held and at which share of the rows rules are split.

    What the parameters leave open is chosen by the squared error over contiguous folds of scaled
    rows. Antecedents do not depend on the prior, so every fold forms its rules once for a share:
    ``form_rules(X, Y, share)`` returns them and their settings. ``whole`` are the rows with gaps
    filled in, for planes that know no rule. The strength that suits one plane
    for all rows is too much for a rule by about the number of rules.

    Rules are split finely if that pays, that is, if regions with planes of their own are clearly
    better than one plane; else as coarsely as they can still be read.
    """
    shares = (FINE, COARSE) if params.split_share == "auto" else (float(params.split_share),)
    if params.splitting == "off":
        shares = (1.0,)
    given: Any = params.prior
    X, Y, whole = X[-MOST_ROWS:], Y[-MOST_ROWS:], whole[-MOST_ROWS:]
    folds = min(FOLDS, len(X) // 2)
    if folds < 2 or (given != "auto" and len(shares) == 1):
        return Prior(1.0 if given == "auto" else given), shares[-1]
    parts = [
        Part(
            without(X, fold), without(Y, fold), X[fold], Y[fold], without(whole, fold), whole[fold]
        )
        for fold in contiguous_folds(len(X), folds)
    ]
    one_plane: Any = sum(shared_losses(part) for part in parts)
    shared = STRENGTHS[int(np.argmin(one_plane))]
    for share in shares:
        losses: Any = sum(fold_losses(form_rules, share, shared, part) for part in parts)
        if losses.min() < (1.0 - REGIONS_PAY) * one_plane.min():
            break
    if given != "auto":
        return Prior(given), share
    base, strength = np.unravel_index(np.argmin(losses), losses.shape)
    return Prior(STRENGTHS[strength], shared if base else None), share


def shared_losses(part: Part) -> Floats:
    """Return the summed squared error on new rows of the planes for all rows, by strength."""
    flat = Prior(1.0).planes(part.whole, part.Y)
    rules = one_rule(part.whole, part.Y)
    scores = trial_scores(rules, 0, [flat], batch.extended(part.whole_new))[0]
    return np.nansum((scores - part.Y_new) ** 2, axis=(1, 2))


def fold_losses(form_rules: FormRules, share: float, shared: float, part: Part) -> Floats:
    """Return the summed squared error on new rows by strength, with flat and with shared planes.

    ``shared`` is the strength of the shared planes themselves.
    """
    X, Y, X_new = part.X, part.Y, part.X_new
    rules, settings = form_rules(X, Y, share)
    batch.set_statistics(rules, X, Y, batch.activations(rules, X, settings))
    psi_new = batch.activations(rules, X_new, settings)
    bases = [Prior(1.0, held).planes(part.whole, Y) for held in (None, shared)]
    scores = sum(
        psi_new[:, r, None]
        * trial_scores(rules, r, bases, batch.extended(rows_for(rules, r, X_new)))
        for r in range(rules.n_rules)
    )
    return np.nansum((scores - part.Y_new) ** 2, axis=(2, 3))


def trial_scores(rules: RuleBase, rule: int, bases: Sequence[Floats], R_new: Floats) -> Floats:
    """Return what one rule says of new rows, (bases, strengths, rows, labels).

    ``W = base + (G + Delta)^-1 (B - G base)`` for all strengths at once: where every coordinate is
    divided by its root in Delta of strength 1, Delta is the same along all main axes of G.
    """
    roots = np.sqrt(precision(1.0, R_new.shape[1] - 1))
    strengths = np.array(STRENGTHS)[:, None, None]
    scores = np.empty((len(bases), len(STRENGTHS), len(R_new), rules.n_labels))
    for group in range(rules.n_groups):
        labels = rules.labels_of(group)
        G = rules.arrays.G[rule, group]
        curvatures, axes = np.linalg.eigh(G / np.outer(roots, roots))
        axes /= roots[:, None]
        rows = R_new @ axes
        for base, found in zip(bases, scores, strict=True):
            pull = (rules.B[rule, labels] - base[labels] @ G) @ axes
            found[:, :, labels] = R_new @ base[labels].T + rows @ np.swapaxes(
                pull / (curvatures + strengths), 1, 2
            )
    return scores


def one_rule(X: Floats, Y: Floats, amounts: Floats | None = None) -> RuleBase:
    """Return a rule base with a single rule that is fully active at every row."""
    rules = RuleBase(X.shape[1], Y.shape[1], capacity=1)
    if Y.shape[1] > 1 and np.isnan(Y).any():
        rules.split_groups()
    rules.append()
    weights = np.ones(len(X)) if amounts is None else amounts
    batch.set_statistics(rules, X, Y, weights[:, None])
    return rules


def ridge_weights(rules: RuleBase, rule: int, Delta: Floats, base: Floats) -> Floats:
    """Return the least-squares consequents of a rule under one prior."""
    target = rules.B[rule] + Delta * base
    if rules.n_groups == 1:
        return np.linalg.solve(rules.arrays.G[rule, 0] + np.diag(Delta), target.T).T
    H = rules.arrays.G[rule] + np.diag(Delta)
    return np.linalg.solve(H, target[:, :, None])[:, :, 0]
