"""The rules of a learner, out of its arrays: where they lie, what they decide, their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from efcml.explain.background import Background, name_all
from efcml.explain.columns import ColumnKinds
from efcml.explain.landscape import Landscape, draw_rows
from efcml.explain.phrases import distinctness
from efcml.explain.rule import DISTINCT, FEW_ROWS, Rule
from efcml.support.label_means import label_means

if TYPE_CHECKING:
    from efcml.model.learner import Learner
    from efcml.support.aliases import Floats, Ints

NO_RULE = -1
NEARLY_ALL_ROWS = 0.8  # share that the background decides
MOST_SAMPLES = 60  # rows that stand for a rule when its terms are chosen
FEW_SAMPLES = 20


def reading_order(rules: Sequence[Rule]) -> list[int]:
    """Return the places of rules in the order in which they are read."""
    return sorted(
        range(len(rules)),
        key=lambda r: (rules[r].covers_all, -rules[r].decides, -rules[r].share),
    )


def read_in_order(
    learner: Learner,
    feature_names: Sequence[str] | None,
    label_names: Sequence[str] | None,
    columns: ColumnKinds | None = None,
) -> tuple[Background, list[Rule]]:
    """Return the background and the rules in the order of the learner's arrays."""
    p, K = learner.n_features, learner.n_labels
    if columns is None:
        columns = ColumnKinds.of_numbers(name_all(feature_names, "x", p))
    names = name_all(label_names, "label", K)
    if not learner.fitted:
        nothing = np.zeros(p), np.ones(p), np.zeros(p), np.ones(p)
        usual, held, share = learner.frequencies, len(learner.held), learner.warm_start.share
        return Background(columns, names, *nothing, usual, held, 0, None, share), []
    from efcml.model.reshape import label_correlation  # not above: it loads numba

    rules, scaler, (given, Y) = learner.rules, learner.scaler, learner.latest
    rows = learner.fill(given)
    winners = rules.activations(rows).argmax(axis=1)
    decided = np.bincount(winners, minlength=rules.n_rules)
    decides = normalise(decided if len(rows) else rules.use)
    land = survey(learner, decides, rows, winners)
    weights, ones = np.diagonal(rules.label_sums[:, :2], axis1=2, axis2=3).swapaxes(0, 1)
    label_shares = share_of(ones, weights)
    means = rows.mean(axis=0) if len(rows) else land.mean
    # At most 1, that of the initial rows: widths of young rules hold much of the width they were
    # born with, which is no property of the data.
    spreads = np.minimum(np.sqrt(np.diagonal(land.covariance)), 1.0)
    usual = share_of(ones.sum(axis=0), weights.sum(axis=0))
    usual = np.nan_to_num(np.where(np.isnan(Y).all(axis=0), usual, label_means(Y)))
    background = Background(
        columns.with_found_groups(given, -scaler.mean / scaler.scale),
        names,
        scaler.mean,
        scaler.scale,
        means,
        spreads,
        usual,
        learner.rows_seen,
        rules.n_rules,
        land,
    )
    covering, shares = find_background(land, decides, means, spreads), normalise(rules.weight)
    found = []
    for r in range(rules.n_rules):
        center, labels, counted = land.centers[r], label_shares[r], weights[r].copy()
        if decided[r] >= FEW_ROWS:
            center, own = rows[winners == r].mean(axis=0), Y[winners == r]
            counted = (~np.isnan(own)).sum(axis=0).astype(float)
            labels = np.where(counted > 0.0, label_means(own), np.nan)
        rule = Rule(
            uid=int(rules.uid[r]),
            born=int(rules.born[r]),
            place=r,
            support=float(rules.support[r]),
            decided=int(decided[r]),
            decides=float(decides[r]),
            covers_all=r == covering,
            weight=float(rules.weight[r]),
            share=float(shares[r]),
            scaled_center=land.centers[r],
            scaled_mean=center,
            scaled_covariance=land.covariances[r],
            scaled_weights=rules.planes[r],
            label_means=label_shares[r],
            label_weights=weights[r].copy(),
            label_shares=labels,
            label_rows=counted,
            label_correlation=label_correlation(rules.label_sums[r]),
            background=background,
        )
        found.append(rule)
    return background, found


def survey(learner: Learner, decides: Floats, rows: Floats, winners: Ints) -> Landscape:
    """Return where the rules of a learner lie, with rows of each.

    These are the last that it decided, or draws from the Gaussian of the rule if they are few.
    """
    from efcml.kernels.linalg import invert, whole  # not above: it loads numba

    rules, density, samples = learner.rules, learner.params.activation == "density", []
    centers = rules.center[:, : learner.n_features].copy()
    covariances = np.array([invert(precision) for precision in rules.marginal])
    for r in range(rules.n_rules):
        own = rows[winners == r][-MOST_SAMPLES:]
        drawn = draw_rows(centers[r], covariances[r], FEW_SAMPLES)
        samples.append(own if len(own) >= FEW_SAMPLES else drawn)
    return Landscape(
        centers,
        covariances,
        np.array([whole(precision.copy()) for precision in rules.marginal]),
        rules.log_det_x * float(density),
        decides,
        tuple(samples),
    )


def normalise(amounts: Floats | Ints) -> Floats:
    """Return amounts as shares of their sum."""
    return amounts / (amounts.sum() or 1.0)


def share_of(ones: Floats, rows: Floats) -> Floats:
    """Return the share of some rows among others; NaN of none."""
    return np.where(rows > 0.0, ones, np.nan) / np.where(rows > 0.0, rows, 1.0)


def find_background(land: Landscape, decides: Floats, means: Floats, spreads: Floats) -> int:
    """Return the rule that covers everything, -1 if there is none.

    That is one that decides nearly all rows, or the widest that no feature sets apart from all.
    """
    if decides.max() >= NEARLY_ALL_ROWS:
        return int(decides.argmax())
    z = (land.centers - means) / spreads
    widths = np.sqrt(np.diagonal(land.covariances, axis1=1, axis2=2)) / spreads
    covering = np.flatnonzero(distinctness(z, widths).max(axis=1) < DISTINCT)
    volumes = [np.linalg.slogdet(land.covariances[r])[1] for r in covering]
    return int(covering[np.argmax(volumes)]) if len(covering) else NO_RULE
