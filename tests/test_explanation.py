"""Explanations: the score of one row, taken apart, against the formulas written out."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers.models import QUICK, TWO_RULES, blocks, fit_blocks, freeze, hide, stream
from numpy.testing import assert_allclose, assert_array_equal

from efcml import EFCMLClassifier
from efcml.kernels.linalg import whole
from efcml.model.cases import CaseStage, RecentStage
from efcml.model.stages import Stage
from efcml.model.watch import DOUBT

NAMES = ("calm", "quiet", "loud", "rare")
NO = np.nan


@pytest.fixture(scope="module")
def several():
    return EFCMLClassifier(**QUICK | {"bandwidth": 1.0, "cases": 60}).fit(*stream(60))


def naive_parts(clf, initial, x, tau, *, density):
    """Return typical answers (C, K), contributions (C, K, p) and Psi (C,) in the learner's order.

    Written from the formulas: scale and clip, squared distances, softmax, planes.
    """
    rules, p = clf.learner_.rules, len(x)
    scaled = np.clip((x - initial.mean(axis=0)) / initial.std(axis=0), -clf.clip, clf.clip)
    energies, typical, parts = [], [], []
    for center, P, W in zip(rules.center[:, :p], rules.marginal, rules.planes, strict=True):
        gap, P = scaled - center, whole(P.copy())
        energies.append(gap @ P @ gap - density * np.linalg.slogdet(P)[1])
        typical.append([W[k, :p] @ center + W[k, p] for k in range(len(W))])
        parts.append([W[k, :p] * gap for k in range(len(W))])
    psi = np.exp(-np.array(energies) / (2.0 * tau))
    psi /= psi.sum()
    return psi[:, None] * typical, psi[:, None, None] * parts, psi


@pytest.mark.parametrize("activation", ["density", "distance"])
@pytest.mark.parametrize(("bandwidth", "far"), [("dimension", False), (1.0, True)])
def test_parts_are_those_of_the_formulas(activation, bandwidth, far):
    X, Y = stream(40)
    options = QUICK | {"activation": activation, "bandwidth": bandwidth, "clip": 3.0}
    clf = EFCMLClassifier(**options).fit(X, Y)
    x = X[7] + 5.0 * np.eye(3)[1] if far else X[7]
    why = clf.explain(x)
    tau = 3.0 if bandwidth == "dimension" else 1.0
    typical, parts, psi = naive_parts(clf, X, x, tau, density=activation == "density")
    order = np.argsort(-psi)
    assert [rule.uid for rule in why.rules] == clf.learner_.rules.uid[order].tolist()
    assert clf.n_rules_ > 3
    assert_allclose(why.activation, psi[order], atol=1e-9)
    assert_allclose(why.typical, typical[order], atol=1e-9)
    assert_allclose(why.contributions, parts[order], atol=1e-9)
    assert_allclose(why.by_feature, parts.sum(axis=0).T, atol=1e-9)
    by_rule = typical + parts.sum(axis=2)
    assert_allclose(why.by_rule, by_rule[order], atol=1e-9)
    assert_allclose(why.base, typical.sum(axis=0), atol=1e-9)
    assert why.clipped.tolist() == [False, far, False]
    assert_array_equal([why.x, why.taken], [x, x])


def check_sums(clf, x):
    """Check that all ways to add up give the score, and that decisions agree."""
    why = clf.explain(x)
    score = np.ravel(clf.decision_function(x[None]) + 0.5)
    assert_allclose(why.score, score, rtol=0, atol=1e-12)
    rest = why.by_cases + sum(why.afterwards.values())
    assert_allclose(why.base + rest + why.by_feature.sum(0), score, rtol=0, atol=1e-9)
    assert_allclose(why.by_rule.sum(axis=0) + rest, score, rtol=0, atol=1e-9)
    assert why.activation.sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.diff(why.activation) <= 0.0).all()
    assert_array_equal(why.decision, np.ravel(clf.decision_function(x[None])) >= 0.0)
    table = why.to_frame()
    assert [*table.columns] == ["rule", "label", "feature", "contribution"]
    sums = table.groupby("label", sort=False)["contribution"].sum()
    assert_allclose(sums.to_numpy(), score, rtol=0, atol=1e-9)
    return why


def test_parts_sum_to_the_score_along_a_stream():
    X, _ = stream(90)
    Y, rules = hide(np.tile(np.arange(90) // 20 % 2, (3, 1)).T * 1.0), 0  # what the last rows tell
    X[60:, 1] = 30.0 * X[60:, 1] + 400.0
    clf, added = EFCMLClassifier(**QUICK), set()
    for t in range(0, 90, 6):
        clf.partial_fit(X[t : t + 6], Y[t : t + 6])
        if not clf.n_rules_:
            continue
        added |= {*check_sums(clf, X[t]).afterwards}
        check_sums(clf, 30.0 * X[t])
        rules = max(rules, clf.n_rules_)
    assert rules > 3 and added == {"label frequencies", "the last errors", "the last labels"}
    assert clf.learner_.watch[DOUBT]  # about the scale


def test_similar_first_rows_answer_half_as_long_as_the_warm_up_lasts():
    X, Y = stream(80)
    clf = EFCMLClassifier(**QUICK | {"warmup_rows": 100}).partial_fit(X, Y)
    why = check_sums(clf, X[3])
    assert "similar first rows" in why.afterwards
    assert_array_equal(why.decision, clf.predict(X[3:4])[0])


def test_the_table_and_the_strongest_features_are_those_of_the_parts(several):
    why = check_sums(several, stream(40)[0][0])
    table = {tuple(row[:3]): row[3] for row in why.to_frame().itertuples(index=False)}
    for k, label in enumerate(why.label_names):
        assert table[-1, label, "similar cases"] == why.by_cases[k]
        for name, added in why.afterwards.items():
            assert table[-1, label, name] == added[k]
        for i, rule in enumerate(why.rules):
            assert table[rule.uid, label, "typical answer"] == why.typical[i, k]
            found = [table[rule.uid, label, feature] for feature in why.feature_names]
            assert found == why.contributions[i, k].tolist()
        ranked = sorted(enumerate(why.by_feature[:, k]), key=lambda push: -abs(push[1]))
        assert why.top(label, 2) == why.top(k - 3, 2) == [(f"x{j}", e) for j, e in ranked[:2]]


def test_remembered_rows_add_what_the_formula_says_and_are_named():
    """Each adds k(x, z) a, as far as its kind is trusted; numbers are those of the learned rows."""
    X, Y = stream(640)
    Y[600:] = 1.0 - Y[600:]
    clf = EFCMLClassifier(prior=1.0, cases=30).fit(X[:40], Y[:40])
    clf.partial_fit(X[40:], Y[40:])
    learner, x = clf.learner_, X[637]
    why, scaled = clf.explain(x), np.clip(learner.scaler.transform(X), -3.0, 3.0)
    total, numbers, likeness = 0.0, [], []
    for kind, width in ((CaseStage, 0.25), (RecentStage, 1.0)):
        stage = learner.stage(kind)
        assert stage.n_cases in (25, 30)
        for z, a in zip(stage.arrays.rows, stage.arrays.weights, strict=True):
            likeness.append(np.exp(-((scaled[637] - z) ** 2).sum() / (2 * 3 * width)))
            total = total + stage.share * likeness[-1] * a
            (row,) = np.flatnonzero((scaled == z).all(axis=1))
            numbers.append(row if row >= 140 else -1)  # 500 rows are remembered for readers
    assert -1 < max(numbers) and 0.0 < learner.stage(RecentStage).share
    assert_allclose(why.by_cases, total, atol=1e-12)
    order = np.argsort(-np.array(likeness), kind="stable")
    assert_allclose(why.case_similarity, np.array(likeness)[order], atol=1e-12)
    assert_array_equal(why.case_rows, np.array(numbers)[order])
    assert "most similar: row " in str(why)
    assert "row 637" not in str(why) and "100 %" not in str(why)  # the row itself says nothing
    older = replace(why, case_rows=np.full(len(why.case_rows), -1))
    assert "remembered rows move" in str(older) and "most similar" not in str(older)
    why = EFCMLClassifier(**QUICK, cases=0).fit(X[:40], Y[:40]).explain(x)
    assert why.cases.shape == (0, 3)
    assert "cases" not in str(why) and "cases" not in why._repr_html_()


class Lift(Stage):
    """A stage of one's own: it adds a tenth to the first label."""

    def __init__(self, n_features, n_labels):
        self.step = 0.1 * np.eye(n_labels)[0]

    def begin(self, rows, scores, Y, weights):
        return scores + self.step

    def follow(self, rows, scores, Y, weights, kept):
        return scores + self.step


def test_stages_of_ones_own_and_missing_features_are_part_of_the_sum():
    X, Y = stream(60)
    clf = EFCMLClassifier(**QUICK, stages=(Lift,)).fit(X[:40], Y[:40])
    learner = clf.learner_
    for scale in (1.0, 30.0):
        why = check_sums(clf, scale * X[3])
        assert_allclose(why.afterwards["further stages"], [0.1, 0.0, 0.0], atol=1e-12)
    x = np.where(np.arange(3) == 1, NO, X[3])
    why = check_sums(clf, x)
    filled = learner.fill(learner.scaler.transform(x[None]))[0]
    assert_allclose(why.taken, learner.scaler.mean + learner.scaler.scale * filled)
    rule = why.rules[0]
    parts = why.activation[0] * rule.slopes * (filled - rule.scaled_center)
    assert_allclose(why.contributions[0], parts)
    assert "x1 (not given; taken as " in str(why)
    wild = check_sums(clf, X[3] + 1e6 * np.eye(3)[1])
    assert_allclose(wild.taken[1], why.taken[1])
    assert wild.notes[-1] == "x1 is so far outside the initial rows that it counts as missing"


def test_before_there_are_rules_nothing_is_explained():
    clf = EFCMLClassifier(warmup_rows=50).partial_fit(*stream(8))
    with pytest.raises(ValueError, match="there are no rules yet: they come when"):
        clf.explain(np.zeros(3))


def test_rows_of_any_kind_and_nothing_is_changed():
    X, Y = blocks()
    clf = fit_blocks()
    before, x = freeze(clf), X[3].copy()
    why = clf.explain(x)
    x[:] = 0.0
    assert_array_equal(why.x, X[3])
    str(why), why._repr_html_(), str(clf.rules_), clf.trust(X), clf.activations(X)
    assert freeze(clf) == before
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = EFCMLClassifier(**TWO_RULES).fit(frame, Y)
    for row in (frame[3:4], frame.iloc[3], X[3], X[3:4], X[3].tolist()):
        assert named.explain(row).feature_names == ("a", "b", "c", "d")
        assert_array_equal(named.explain(row).contributions, why.contributions)
    with pytest.raises(ValueError, match="feature names should match"):
        named.explain(frame.iloc[3][::-1])


@pytest.mark.parametrize(
    ("x", "known", "reason"),
    [
        (np.zeros((2, 4)), None, "x must be one row; got 2 rows"),
        (np.zeros((0, 4)), None, "x must be one row; got 0 rows"),
        (np.zeros(3), None, "3 features"),
        ([0.0, np.inf, 0.0, 0.0], None, "infinity"),
        (np.zeros(4), np.zeros(3), "known has 3 labels, but 2 are expected"),
        (np.zeros(4), np.zeros((2, 2)), "known must be one row; got 2 rows"),
        (np.zeros(4), [0.5, 0.5], "known must"),
    ],
)
def test_bad_rows_are_refused(x, known, reason):
    with pytest.raises(ValueError, match=reason):
        fit_blocks().explain(x, known)
    X, Y = blocks()
    flat = EFCMLClassifier(**TWO_RULES).fit(X, Y[:, 0])
    assert flat.explain(X[30]).decision.tolist() == flat.predict(X[30:31]).tolist() == [1]
    with pytest.raises(ValueError, match="known needs a model"):
        flat.explain(X[0], [1])


def related(n=160, K=4):
    """Labels that share what the features do not tell; the last is rare."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    common = rng.normal(size=(n, 1))
    heights = X @ rng.normal(size=(3, K)) + 1.5 * common * [1, 1, -1, 0.5] + rng.normal(size=(n, K))
    return X, (heights > [0, 0, 0, 2.5]).astype(float)


@pytest.fixture(scope="module")
def learned():
    """Models by what they decide for."""
    X, Y = related()
    options = {"prior": 1.0, "vigilance": 0.3, "birth_width": 0.3, "cases": 12}
    kinds = ("hamming", "f1", "subset")
    models = {kind: EFCMLClassifier(**options, decision=kind) for kind in kinds}
    for clf in models.values():
        clf.fit(X[:60], Y[:60]).partial_fit(X[60:100], Y[60:100]).name_columns(label_names=NAMES)
    return models


@pytest.mark.parametrize("places", [[0], [0, 2], [1, 2, 3], [0, 1, 2, 3]])
def test_what_known_labels_add_is_a_part_of_the_sum(learned, places):
    (X, Y), clf = related(), learned["hamming"]
    for t in range(100, 110):
        known = np.full(4, NO)
        known[places] = Y[t, places]
        why = clf.explain(X[t], known)
        assert_allclose(why.score, clf.learner_.answer(X[[t]], known[None]).scores[0])
        parts = sum(why.afterwards.values())
        total = why.base + why.by_feature.sum(axis=0) + why.by_cases + parts
        assert_allclose(total, why.score, atol=1e-9)
        assert_allclose(why.score[places], Y[t, places])
        frame = why.to_frame()
        sums = frame.groupby("label", sort=False)["contribution"].sum()
        assert_allclose(sums, why.score, atol=1e-12)
        found = frame[frame["feature"] == "known labels"]["contribution"]
        assert_allclose(found, why.score - clf.learner_.score(X[[t]])[0], atol=1e-12)
    assert str(why) == str(clf.explain(X[t], pd.Series(known, index=NAMES)))
    assert f"{'yes' if Y[t, places[0]] else 'no'}, known" in str(why)
    with pytest.raises(ValueError, match="known must have the columns"):
        clf.explain(X[t], pd.Series(known, index=NAMES[::-1]))


@pytest.mark.parametrize("decision", ["hamming", "f1", "subset"])
def test_decisions_are_those_of_predict_and_what_turned_them_is_told(learned, decision):
    (X, Y), clf, turned = related(), learned[decision], 0
    decide = clf.learner_.answer_scores
    for t in range(100, 160, 3):
        for known in (None, np.array([Y[t, 0], NO, NO, NO])):
            why = clf.explain(X[t], known)
            given = None if known is None else known[None]
            assert_array_equal(why.decision, clf.learner_.answer(X[[t]], given).decisions[0])
            if decision != "subset":
                said, open_ = why.score >= why.thresholds, np.isnan(why.known)
                assert_array_equal(why.decision[open_], said[open_])
            other = (why.decision != (why.score >= 0.5)).sum()
            reasons = ("because of the set as a whole", "said from", "said only from")
            assert sum(any(words in note for words in reasons) for note in why.notes) == other
            turned += other
        why = clf.explain(X[t])
        alone = why.by_rule[[0]] / why.activation[0]
        assert_array_equal(why.decision_alone, decide(alone).decisions[0])
    assert (turned > 0) == (decision != "hamming")


@pytest.mark.parametrize("kind", ["hamming", "f1"])
def test_trust_is_what_explanations_say(several, learned, kind):
    clf = several if kind == "hamming" else learned[kind]
    X, decide = stream(15, seed=5)[0], clf.learner_.answer_scores
    found = []
    for x in X:
        why, trust = clf.explain(x), clf.trust(x[None])
        strongest = (why.decision_alone == why.decision).mean()
        blended = why.by_rule.sum(axis=0)
        rules = (decide(blended[None]).decisions[0] == why.decision).mean()
        correction = np.abs(why.by_cases + sum(why.afterwards.values())).mean()
        found.append([strongest, rules, correction])
        assert [trust.strongest, trust.rules, trust.correction] == pytest.approx(found[-1])
    trust = clf.trust(X)  # these rows follow each other
    if clf is several:  # which knows of no row before them
        means = np.mean(found, axis=0)
        assert [trust.strongest, trust.rules, trust.correction] == pytest.approx(means)
    assert (trust.rows, trust.learned) == (15, False) and trust.strongest < 1.0


def test_an_explanation_says_whether_other_rules_and_rows_matter(several):
    seen = set()
    for x in stream(60, seed=9)[0]:
        why = several.explain(x)
        alone = why.by_rule[0] / why.activation[0] >= 0.5
        names = [why.label_names[k] for k in np.flatnonzero(alone != why.decision)]
        plural = "s" * (len(names) > 1)
        other = f"otherwise for {len(names)} label{plural}: {', '.join(names)}"
        how = other if names else "the same"
        assert why.notes[0] == f"rule {why.rules[0].uid} alone decides {how}"
        k = np.abs(why.by_cases).argmax()
        assert why.notes[1].startswith(f"remembered rows move label{k} most, by ")
        seen.add(not names)
    assert len(seen) == 2


def test_sentences_on_what_turned_a_decision_and_what_follows(learned):
    why = learned["hamming"].explain(related()[0][100])
    none = np.full(4, NO)

    def notes(afterwards=None, **changes):
        added = {"clipped": np.zeros(3, bool), "afterwards": afterwards or {}}
        told = replace(why, **added, **changes).notes
        return [note for note in told if "alone decides" not in note and "remembered" not in note]

    other = {"score": np.array([0.6, 0.3, 0.7, 0.0]), "decision": np.array([0, 1, 1, 0])}
    f1 = notes(kind="f1", thresholds=np.array([0.65, 0.21, 0.5, 0.5]), known=none, **other)
    assert f1 == ["calm is said only from .65 on", "quiet is said from .21 on"]
    whole = [f"{name} said because of the set as a whole" for name in ("calm is not", "quiet is")]
    assert notes(kind="subset", **other) == whole
    addends = {"label frequencies": [0.01, -0.03, 0, 0], "the last errors": [0.2, 0, 0, 0]}
    addends["x"] = [0.004, 0, 0, 0]
    assert notes({name: np.array(added) for name, added in addends.items()}) == [
        "label frequencies move quiet most, by -.03",
        "the last errors move calm most, by +.20",
    ]
    moved = notes({"known labels": np.array([0.4, -0.12, 0, 0])}, known=np.array([1.0, NO, NO, NO]))
    assert moved == ["known labels move quiet most, by -.12"]
