"""The rules of a learner, out of its arrays: where they lie, what they decide, their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.explain.activity import activate_scaled, remembered_rows
from efcml.explain.background import Background, name_all
from efcml.explain.columns import ColumnKinds
from efcml.explain.landscape import Landscape, draw_rows
from efcml.explain.phrases import distinctness
from efcml.explain.rule import DISTINCT, FEW_ROWS, Rule

if TYPE_CHECKING:
    from efcml.model.learner import Learner
    from efcml.model.rulebase import RuleBase
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
        usual, held, share = learner.frequencies, len(learner.held), learner.beginning.share
        return Background(columns, names, *nothing, usual, held, 0, None, share), []
    rules, scaler = learner.rules, learner.scaler
    remembered = remembered_rows(learner)
    scaled = scaler.transform(remembered)
    winners = activate_scaled(learner, scaled).argmax(axis=1)
    decides = decided_shares(rules)
    land = survey(learner, decides, scaled, winners)
    label_weights, label_means = own(rules.label_weight), own(rules.label_mean)
    rows, ones = decided_labels(rules, label_weights, label_means)
    known = rows.sum(axis=0)
    usual = ones.sum(axis=0) / np.where(known > 0.0, known, 1.0)
    means, spreads = usual_features(rules, land)
    background = Background(
        columns.with_found_groups(remembered, scaler.mean),
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
    covering = find_background(land, decides, means, spreads)
    shares = rules.weight / (rules.weight.sum() or 1.0)
    found = [
        Rule(
            uid=int(rules.uid[r]),
            born=int(rules.born[r]),
            place=r,
            support=float(rules.support[r]),
            decides=float(decides[r]),
            covers_all=r == covering,
            weight=float(rules.weight[r]),
            share=float(shares[r]),
            scaled_center=land.centers[r],
            scaled_mean=mean_row(rules, r, land.centers[r]),
            scaled_covariance=land.covariances[r],
            scaled_weights=learner.planes[r, :K].copy(),
            label_means=np.where(label_weights[r] > 0.0, label_means[r], np.nan),
            label_weights=label_weights[r],
            label_shares=ones[r] / np.where(rows[r] > 0.0, rows[r], np.nan),
            label_rows=rows[r],
            label_correlation=correlation(rules, r),
            background=background,
        )
        for r in range(rules.n_rules)
    ]
    return background, found


def survey(learner: Learner, decides: Floats, remembered: Floats, winners: Ints) -> Landscape:
    """Return where the rules of a learner lie, with rows of each.

    These are rows that it remembers, or draws from the Gaussian of the rule where they are few.
    """
    from efcml.model.definite import invert  # not above: it loads numba

    rules, settings = learner.rules, learner.settings
    precisions = np.array(rules.input_precision)
    centers = rules.center[:, : learner.n_features].copy()
    covariances = np.array([invert(precision) for precision in precisions])
    samples = []
    for r in range(rules.n_rules):
        own = remembered[winners == r][-MOST_SAMPLES:]
        drawn = draw_rows(centers[r], covariances[r], FEW_SAMPLES)
        samples.append(own if len(own) >= FEW_SAMPLES else drawn)
    return Landscape(
        centers,
        covariances,
        precisions,
        rules.log_det[:, 1] * float(settings.density),
        decides,
        tuple(samples),
    )


def decided_shares(rules: RuleBase) -> Floats:
    """Return the share of the rows of late in which each rule was the strongest.

    Where none are counted, as in a file of an older version, by the sums of activation.
    """
    counted = rules.decided if rules.decided.any() else rules.use
    return counted / (counted.sum() or 1.0)


def decided_labels(rules: RuleBase, weights: Floats, means: Floats) -> tuple[Floats, Floats]:
    """Return in how many rows that a rule decided of late a label was known, and how many had it.

    Both (rules, K). Where none are counted, by activation.
    """
    if rules.decided.any():
        known = rules.decided_known.copy()
        return known, np.clip(rules.decided_ones, 0.0, known)  # beyond: right after a split
    return weights, weights * np.clip(means, 0.0, 1.0)


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


def own(table: Floats) -> Floats:
    """Return what each label says of itself, (rules, K), of an array over pairs of labels."""
    return (table[:, 0] if table.shape[1] == 1 else np.diagonal(table, axis1=1, axis2=2)).copy()


def correlation(rules: Any, rule: int) -> Floats:
    """Return the label correlation of a rule, as its penalty uses it."""
    from efcml.kernels.proximal import correlate  # not above: it loads numba

    corr = np.empty((rules.n_labels, rules.n_labels))
    correlate(rules.label_cov[rule], rules.label_weight[rule], corr)
    return corr


def mean_row(rules: RuleBase, rule: int, center: Floats) -> Floats:
    """Return the mean of the scaled rows that a rule decided of late; its center without any."""
    counted = rules.decided[rule]
    return rules.decided_sum[rule] / counted if counted >= FEW_ROWS else center


def usual_features(rules: RuleBase, land: Landscape) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of each scaled feature over the rows of all rules.

    The deviation is at most 1, that of the initial rows: widths of young rules hold much of the
    width they were born with, which is no property of the data.
    """
    counted, spreads = rules.decided.sum(), np.sqrt(np.diagonal(land.covariance))
    means = rules.decided_sum.sum(axis=0) / counted if counted > 0.0 else land.mean
    return means, np.minimum(spreads, 1.0)
