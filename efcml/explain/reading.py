"""From the arrays of a learner to what is read of it: rules, activations, trust, one answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from efcml.explain.background import Background, ColumnKinds, name_all
from efcml.explain.choosing import Landscape, draw_rows
from efcml.explain.explanation import Explanation, LabelAnswer
from efcml.explain.phrases import distinctness
from efcml.explain.rule import DISTINCT, FEW_ROWS, Rule
from efcml.explain.rulelist import RuleList
from efcml.explain.trust import Trust, count_effective
from efcml.support.guard import one_at_a_time, one_blas_thread
from efcml.support.statistics import label_means

if TYPE_CHECKING:
    from efcml.model.learner import Learner
    from efcml.support.aliases import Floats, Ints

# Modules of the model are imported where they are needed: they load numba.

NEARLY_ALL_ROWS = 0.8  # share that the background decides
MOST_SAMPLES = 60  # rows that stand for a rule when its terms are chosen
FEW_SAMPLES = 20
OLDER = -1  # number of a row that is no longer among the last ones, or had missing features

# The order of reading of each learner, and for which state: to find it takes longer than a row.
_orders: WeakKeyDictionary[Learner, tuple[Any, list[int]]] = WeakKeyDictionary()


@one_at_a_time
@one_blas_thread()
def read_rules(
    learner: Learner,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    columns: ColumnKinds | None = None,
) -> RuleList:
    """Return the rules of a learner by what they decide; none during the warm-up.

    Things without names are ``x0``, ``x1``, ... and ``label0``, ``label1``, ...; ``columns`` says
    which columns are flags and which belong together, with names of their own.
    """
    background, rules = read_in_order(learner, feature_names, label_names, columns)
    late = learner.latest[0]
    trust = measure_trust(learner, rules, late, "learned row") if rules and len(late) else None
    return RuleList((rules[r] for r in reading_order(rules)), background, trust)


@one_at_a_time
@one_blas_thread()
def read_activations(learner: Learner, X: Floats) -> Floats:
    """Return the activation of every rule at rows that are not scaled, as `read_rules` orders."""
    stamp = learner.rows_seen, learner.rules.uid.tobytes()
    known, order = _orders.get(learner, (None, []))
    if known != stamp:
        order = reading_order(read_in_order(learner, None, None)[1])
        _orders[learner] = stamp, order
    return learner.activations(learner.scaler.transform(X))[:, order]


@one_at_a_time
@one_blas_thread()
def read_trust(learner: Learner, X: Floats, columns: ColumnKinds | None = None) -> Trust:
    """Return how far the reading of a fitted learner holds for rows that are not scaled."""
    _, rules = read_in_order(learner, None, None, columns)
    return measure_trust(learner, rules, learner.scaler.transform(X), "row")


@one_at_a_time
@one_blas_thread()
def explain_row(
    learner: Learner,
    x: Floats,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    columns: ColumnKinds | None = None,
    known: Floats | None = None,
) -> Explanation:
    """Return why a learner says what it says of the row ``x`` of shape (1, p), not scaled.

    Names and columns as in `read_rules`; ``known`` (1, K) has NaN where a label is not known.
    """
    background, rules = read_in_order(learner, feature_names, label_names, columns)
    score, p, K = learner.score(x)[0], learner.n_features, learner.n_labels
    if not rules:
        labels = answer_labels(learner, score, score, score, known)
        nothing, none = RuleList([], background), np.zeros((0, K))
        return Explanation(
            x[0].copy(), labels, nothing, none[:, 0], none, np.zeros((0, K, p)), none
        )
    scaled, scaler = learner.scaler.transform(x), learner.scaler
    filled = learner.fill(scaled)
    psi = learner.rules.activations(filled)[0]
    order = np.argsort(-psi, kind="stable")
    psi, rules = psi[order], [rules[r] for r in order]
    typical = psi[:, None] * [rule.answer for rule in rules]
    gaps = [rule.slopes * (filled[0] - rule.scaled_center) for rule in rules]
    contributions = psi[:, None, None] * gaps
    by_rule = typical + contributions.sum(axis=2)
    blended = by_rule.sum(axis=0)
    cases, case_rows, similarity = remembered_by(learner, filled)
    return Explanation(
        x[0].copy(),
        answer_labels(learner, score, by_rule[0] / psi[0], blended, known),
        RuleList(rules, background),
        psi,
        typical,
        contributions,
        cases,
        case_rows,
        similarity,
        np.abs(scaled[0]) >= scaler.clip,
        find_addends(learner, blended + cases.sum(axis=0), score),
        np.where(np.isnan(scaled), scaler.mean + scaler.scale * filled, x)[0],
    )


# -- rules ----------------------------------------------------------------------------------


def reading_order(rules: Sequence[Rule]) -> list[int]:
    """Return the places of rules in the order in which they are read."""
    keys = [(rule.covers_all, -rule.decides, -rule.share) for rule in rules]
    return sorted(range(len(rules)), key=keys.__getitem__)


def read_in_order(
    learner: Learner,
    feature_names: Sequence[str] | None,
    label_names: Sequence[str] | None,
    columns: ColumnKinds | None = None,
) -> tuple[Background, list[Rule]]:
    """Return the background and the rules in the order of the learner's arrays."""
    p, K = learner.n_features, learner.n_labels
    if columns is None:
        columns = ColumnKinds(name_all(feature_names, "x", p), np.zeros(p, dtype=bool))
    names = name_all(label_names, "label", K)
    if not learner.fitted:
        nothing = np.zeros(p), np.ones(p), np.zeros(p), np.ones(p)
        usual, held, share = learner.frequencies, len(learner.held), learner.warm_start.share
        return Background(columns, names, *nothing, usual, held, 0, None, share), []
    from efcml.model.reshape import label_correlation

    rules, scaler, (given, Y, _) = learner.rules, learner.scaler, learner.latest
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
        relevant=np.isin(np.arange(p), rules.features.numbers),
    )
    covering, shares = find_background(land, decides, means, spreads), normalise(rules.weight)
    made, planes = [], rules.whole_planes()
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
            scaled_weights=planes[r],
            label_means=label_shares[r],
            label_weights=weights[r].copy(),
            label_shares=labels,
            label_rows=counted,
            label_correlation=label_correlation(rules.label_sums[r]),
            background=background,
        )
        made.append(rule)
    return background, made


def survey(learner: Learner, decides: Floats, rows: Floats, winners: Ints) -> Landscape:
    """Return where the rules of a learner lie, with rows of each.

    These are the last that it decided, or draws from the Gaussian of the rule if they are few.
    """
    rules, density, samples = learner.rules, learner.params.activation == "density", []
    centers, covariances, precisions = rules.whole_gaussians()
    for r in range(rules.n_rules):
        own = rows[winners == r][-MOST_SAMPLES:]
        drawn = draw_rows(centers[r], covariances[r], FEW_SAMPLES)
        samples.append(own if len(own) >= FEW_SAMPLES else drawn)
    return Landscape(
        centers,
        covariances,
        precisions,
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
    return int(covering[np.argmax(volumes)]) if len(covering) else -1


def measure_trust(learner: Learner, rules: Sequence[Rule], rows: Floats, source: str) -> Trust:
    """Return how well simpler readings agree with a fitted learner at some scaled rows.

    ``rules`` are in the order of the learner's arrays.
    """
    scores, filled = learner.score_scaled(rows), learner.fill(rows)
    psi = learner.rules.activations(filled)
    winner = psi.argmax(axis=1)
    blended, alone, thin = (np.zeros_like(scores) for _ in range(3))
    for r, rule in enumerate(rules):
        heights = filled @ rule.slopes.T + rule.scaled_weights[:, -1]
        blended += psi[:, [r]] * heights
        own = winner == r
        alone[own] = heights[own]
        thin[own] = rule.answer + (filled[own] - rule.scaled_center) @ rule.sparse.slopes.T
    # All are decided as the model decides, by its thresholds or as whole sets.
    decided = learner.answer_scores(scores).decisions
    strongest, sparse, together = (
        float((learner.answer_scores(part).decisions == decided).mean())
        for part in (alone, thin, blended)
    )
    first = blended[0] + remembered_by(learner, filled[:1])[0].sum(axis=0)
    return Trust(
        len(rows),
        source,
        strongest,
        sparse,
        together,
        float(np.abs(scores - blended).mean()),
        float(np.median(count_effective(psi))),
        bool(find_addends(learner, first, scores[0])),
    )


# -- one answer -----------------------------------------------------------------------------


def remembered_by(learner: Learner, x: Floats) -> tuple[Floats, Ints, Floats]:
    """Return what each remembered row adds (m, K), its number and similarity, most similar first.

    ``x`` (1, p) is scaled, without gaps. A row that is a case and a recent case is there twice:
    recent cases reach further.
    """
    from efcml.kernels.cases import FAR
    from efcml.model.cases import CaseStage

    adds, rows, similar = [np.zeros((0, learner.n_labels))], list[bytes](), [np.zeros(0)]
    for stage in learner.stages:
        if isinstance(stage, CaseStage):
            n = stage.n_cases
            similar.append(stage.similarity(x)[0])
            adds.append(stage.share * similar[-1][:, None] * stage.arrays.weights[:n])
            rows += [row.tobytes() for row in stage.arrays.rows[:n]]
    late = learner.rules.features.take(
        np.clip(learner.latest[0], -FAR, FAR)
    )  # as a case would hold them
    numbers = {row.tobytes(): learner.rows_seen - len(late) + i for i, row in enumerate(late)}
    known = np.array([numbers.get(row, OLDER) for row in rows], dtype=int)
    likeness = np.concatenate(similar)
    order = np.argsort(-likeness, kind="stable")
    return np.concatenate(adds)[order], known[order], likeness[order]


def find_addends(learner: Learner, scores: Floats, final: Floats) -> dict[str, Floats]:
    """Return what is added to ``scores`` (K,) of rules and cases of the next row, by name.

    What adds nothing to any label is left out. Stages of one's own are one addend: what is left.
    """
    from efcml.model.temporal import TemporalStage

    temporal = learner.stage(TemporalStage)
    addends = {} if temporal is None else temporal.addends(scores, learner.waiting)
    if learner.params.stages:
        addends["further stages"] = final - scores - sum(addends.values())
    return {name: added for name, added in addends.items() if added.any()}


def answer_labels(
    learner: Learner, score: Floats, alone: Floats, rules: Floats, known: Floats | None
) -> LabelAnswer:
    """Return what a learner makes of a row with this ``score`` (K,).

    ``alone`` and ``rules`` are what the strongest rule and all rules say of it; ``known`` has the
    shape (1, K).
    """
    scores, layer = np.stack([score, alone, rules]), learner.labels
    answer = learner.answer_scores(scores, None if known is None else np.repeat(known, 3, axis=0))
    given = np.full(len(score), np.nan) if known is None else known[0]
    decision, by_strongest, by_rules = answer.decisions.astype(int)
    return LabelAnswer(
        "hamming" if layer is None else learner.params.decision,
        answer.scores[0],
        decision,
        by_strongest,
        by_rules,
        np.full(len(score), 0.5) if layer is None else layer.thresholds(),
        given,
        add_known(learner, score, given),
    )


def add_known(learner: Learner, score: Floats, known: Floats) -> dict[int, Floats]:
    """Return what each known label adds to all, E_uk E_kk^-1 (y_k - s_k) by column, by its number.

    What labels say of each other is linear in the gaps between truth and score, so a gap of 1 of
    each known label, and of 0 of the others, gives the columns. Before there are rules a known
    label tells of itself alone.
    """
    places = np.flatnonzero(~np.isnan(known))
    gaps = np.full((len(places), len(known)), np.nan)
    gaps[:, places] = np.eye(len(places))
    if learner.labels is None:
        columns = np.nan_to_num(gaps)
    else:
        columns, _ = learner.labels.condition(np.zeros_like(gaps), gaps)
    pairs = zip(places.tolist(), columns, strict=True)
    return {k: column * (known[k] - score[k]) for k, column in pairs}
