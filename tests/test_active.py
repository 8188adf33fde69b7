"""ActiveLearner in the hands of a person: answers, late answers, errors, the log, the face."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from helpers.models import QUICK, freeze, stream
from numba import njit

from efcml import ActiveLearner, EFCMLClassifier, OneVsRestEFC, load, plots, prequential, save
from efcml.active import CRITERIA, Criterion
from efcml.kernels.linalg import whole

X, Y = stream(70)
START, BUDGET = 30, 0.3
WORDS = np.where(Y[:, 0] == 1, "yes", "no")


def fitted(labels=Y):
    return EFCMLClassifier(**QUICK).fit(X[:START], labels[:START])


def named():
    return fitted().name_columns(label_names=["u", "v", "w"])


def everything():
    return ActiveLearner(1.0, criteria="all")


def rows_open(active):
    return [question.row for question in active.waiting]


def everything_of(active, clf):
    """All that an error must leave alone."""
    return freeze([active.state, len(active.log), rows_open(active), clf.learner_])


def play(active, clf, rows=range(START, 70), answer=True):
    """Ask and tell; return the questions that wanted something."""
    asked = []
    for t in rows:
        question = active.ask(clf, X[t])
        y = np.where(question.labels, Y[t], np.nan) if question and answer else None
        assert active.tell(clf, X[t], y).row == question.row
        if question:
            asked.append(question)
    return asked


def refuse(active, clf, match, *given, **more):
    """Check that an answer is refused and changes nothing."""
    before = everything_of(active, clf)
    with pytest.raises((ValueError, TypeError), match=match) as caught:
        active.tell(clf, *given, **more)
    assert "\n" not in str(caught.value)
    assert everything_of(active, clf) == before


@pytest.mark.parametrize("unit", ["samples", "labels"])
def test_ask_and_tell_is_prequential(unit):
    one, other = fitted(), fitted()
    active, same = (ActiveLearner(0.4, unit) for _ in range(2))
    asked = play(active, one)
    result = prequential(other, X[START:], Y[START:], active=same)
    assert asked
    assert freeze(one.learner_) == freeze(other.learner_)
    assert [query.row for query in same.log] == [question.row for question in asked]
    assert result.queried.shape == ((40, 3) if unit == "labels" else (40,))
    assert result.queried.sum() == active.spent == same.spent
    assert result.rules[-1] == other.n_rules_
    assert result.to_frame()["queried"].sum() == active.spent


def test_a_scale_that_follows_the_stream_is_used_from_the_next_row_on():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(400, 3))
    B = (A @ rng.normal(size=(3, 2)) > 0.0).astype(float)
    A[100:, 1] *= 50.0
    options = QUICK | {"scaling": "follow", "cases": 20}
    one, other = (EFCMLClassifier(**options).fit(A[:60], B[:60]) for _ in range(2))
    begun = one.learner_.scaler
    active = everything()
    for t in range(60, 400):
        active.tell(one, A[t], B[t])
    assert one.learner_.scaler is not begun
    prequential(other, A[60:], B[60:], active=everything())
    assert freeze(one.learner_.rules) == freeze(other.learner_.rules)
    assert freeze(one.learner_.scaler) == freeze(other.learner_.scaler)


def test_late_answers_in_any_order_by_row_or_by_question():
    clf, twin, third = fitted(), fitted(), fitted()
    active, same = ActiveLearner(0.5), ActiveLearner(0.5)
    asked = play(active, clf, answer=False)
    play(same, third, answer=False)
    rows = [question.row for question in asked]
    assert rows_open(active) == rows
    assert [q.labels.tolist() for q in active.waiting] == [q.labels.tolist() for q in asked]
    refuse(active, clf, "needs y", active.waiting[0])
    for row in reversed(rows):
        truth = Y[START + row]
        assert active.tell(clf, None, truth, row=row).row == row
        question = same.waiting[-1]
        assert same.tell(third, question, truth) is question
        twin.learner_.learn(X[None, START + row], truth[None])
    assert active.waiting == same.waiting == ()
    for model in (clf, third):
        assert freeze(model.learner_.rules) == freeze(twin.learner_.rules)
    refuse(same, third, f"row {question.row}: it was answered already", question, truth)
    refuse(same, third, "it was answered already", same.log[0], truth)


def test_an_open_question_keeps_its_own_row():
    clf, twin, active = fitted(), fitted(), everything()
    buffer = X[START].copy()  # a stream may use one for all rows
    question = active.tell(clf, buffer)
    twin.learner_.pass_rows(1)
    buffer[:] = 1e6
    active.tell(clf, None, Y[START], row=0)
    twin.learner_.learn(X[START : START + 1], Y[START : START + 1], late=0)
    assert freeze(clf.learner_) == freeze(twin.learner_)
    with pytest.raises(ValueError, match="read-only"):
        question.labels[0] = False
    play(active, clf, range(START + 1, START + 6), answer=False)
    assert rows_open(active) == [1, 2, 3, 4, 5]
    weights = clf.learner_.rules.W.copy()
    active.tell(clf, None, np.full(3, np.nan), row=4)  # nobody knows
    assert rows_open(active) == [1, 2, 3, 5]
    assert np.array_equal(clf.learner_.rules.W, weights)
    question = active.ask(clf, X[START + 6])
    active.tell(clf, None, Y[START + 3], row=3)
    assert active.tell(clf, question, Y[START + 6]) is question  # as it was asked
    assert (active.rows, active.spent) == (7, 7)
    refuse(active, clf, "row 6: it was answered already", question, Y[START + 6])
    refuse(active, clf, "row 6: it was answered already", None, Y[START + 6], row=6)


def test_classes_frames_and_single_labels_by_name_or_index():
    clf, plain, active = fitted(WORDS), fitted(WORDS), everything()
    for t in range(START, 40):
        active.tell(clf, X[t], {0: WORDS[t]} if t % 2 else WORDS[t])
    plain.partial_fit(X[START:40], WORDS[START:40])
    assert freeze(clf.learner_) == freeze(plain.learner_)
    one, other = named(), named()
    active, same = everything(), everything()
    for t in range(START, START + 6):
        active.tell(one, X[t], {0: int(Y[t, 0]), 2 if t % 2 else "w": Y[t, 2]})
        same.tell(other, X[t], [Y[t, 0], np.nan, Y[t, 2]])
    assert freeze(one.learner_) == freeze(other.learner_)
    table, labels = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=list("uvw"))
    clf = EFCMLClassifier(**QUICK).fit(table[:START], labels[:START])
    active, plain = everything(), fitted()
    active.tell(clf, table.iloc[START], labels.iloc[START])
    active.tell(clf, table.iloc[[START + 1]], labels.iloc[[START + 1]])
    plain.partial_fit(X[START : START + 2], Y[START : START + 2])
    assert freeze(clf.learner_) == freeze(plain.learner_)
    with pytest.raises(ValueError, match="feature names"):
        active.ask(clf, table.iloc[START].rename({"a": "z"}))


def test_a_question_names_its_labels_and_answers_may_be_words():
    one, other = named(), named()
    active, same = ActiveLearner(0.6, "labels"), ActiveLearner(0.6, "labels")
    for t in range(START, 60):
        question = active.ask(one, X[t])
        assert question.names == tuple("uvw"[c] for c in np.flatnonzero(question.labels))
        words = {name: "Yes" if Y[t, "uvw".index(name)] else "no" for name in question.names}
        active.tell(one, question, words if question else None)
        same.tell(other, X[t], np.where(question.labels, Y[t], np.nan) if question else None)
    assert freeze(one.learner_) == freeze(other.learner_)
    assert everything().ask(fitted(), X[0]).names == (0, 1, 2)
    assert "names=('u', 'v', 'w'), reasons=('all',)" in repr(everything().ask(one, X[0]))


def test_a_criterion_of_ones_own(monkeypatch, tmp_path):
    rare = Criterion("the third label is likely", lambda row: row.scores[2] > 0.5)
    monkeypatch.setitem(CRITERIA, "rare", rare)
    clf, active = fitted(), ActiveLearner(1.0, criteria=("rare",))
    wanted = clf.decision_function(X)[:, 2] > 0.0
    assert [bool(active.ask(clf, x)) for x in X] == wanted.tolist()
    active.tell(clf, X[wanted][0])
    save(active, tmp_path / "active.npz")
    assert load(tmp_path / "active.npz").waiting[0].reasons == ("rare",)
    monkeypatch.delitem(CRITERIA, "rare")
    with pytest.raises(ValueError, match="criteria must be one of 'novelty', .*; got 'rare'"):
        load(tmp_path / "active.npz")


@pytest.mark.parametrize(
    ("criterion", "words"),
    [
        (Criterion("no row", lambda: True), r"raised TypeError \(.* positional argument"),
        (Criterion("compiled", njit(lambda row: row > 1)), r"raised Typ(ing|e)Error \("),
        (Criterion("a label too many", lambda row: row.scores[3] > 0.5), r"raised IndexError \("),
        (Criterion("nothing", lambda row: None), "returned None"),
        (Criterion("of labels", lambda row: row.scores > 0.5), r"returned array\("),
        (lambda row: True, r"raised AttributeError \("),
    ],
)
def test_a_criterion_that_keeps_no_contract_is_told_it(criterion, words, monkeypatch):
    contract = ".*: a criterion is CRITERIA.* = Criterion.*takes a Row and returns True or False"
    monkeypatch.setitem(CRITERIA, "own", criterion)
    clf, active = fitted(), ActiveLearner(1.0, criteria="own")
    refuse(active, clf, f"the criterion 'own' {words}{contract}", X[0])
    for given in (criterion, ["novelty", criterion]):
        with pytest.raises(ValueError, match="criteria must be names" + contract[2:]):
            ActiveLearner(criteria=given)


def test_bad_options():
    for name, value, words in [
        ("budget", 0.0, "budget must be a number > 0 and <= 1; got 0"),
        ("budget", 1.1, "budget must be"),
        ("unit", "rows", "unit must be one of 'samples', 'labels'; got 'rows'"),
        ("criteria", "novel", "criteria must be one of 'novelty', .*; got 'novel'"),
        ("criteria", ("novelty", 3), "criteria must be names: a criterion is CRITERIA"),
        ("criteria", (), "criteria is empty"),
        ("random_state", -1, "random_state must be a whole number >= 0"),
        ("random_state", "x", "random_state must be"),
        ("random_state", True, "random_state must be"),
    ]:
        with pytest.raises(ValueError, match=words):
            ActiveLearner(**{name: value})


def test_bad_answers_change_nothing():
    clf, active = named(), ActiveLearner(0.6, "labels", "ambiguity")
    rows = iter(range(START, 70))
    waiting = next(q for q in (active.tell(clf, X[t]) for t in rows) if 0 < q.labels.sum() < 3)
    answered = next(q for q in (active.tell(clf, X[t]) for t in rows) if q)
    active.tell(clf, None, np.where(answered.labels, 1.0, np.nan), row=answered.row)
    good = np.where(waiting.labels, 1.0, np.nan)
    other = int(np.flatnonzero(~waiting.labels)[0])
    for x, y, row, words in [
        (None, good, 10_000, "row 10000: it was never asked"),
        (None, good, "a", "row must be a whole number"),
        (None, good, answered.row, "it was answered already"),
        (None, np.ones(3), waiting.row, rf"only; y also gives \[{other}.*: put NaN there"),
        (waiting, {other: 1}, None, "only; y also gives"),
        (None, [1, 0], waiting.row, "y has 2 labels, but 3 are expected"),
        (None, 2 * good, waiting.row, "y must hold 0, 1 or NaN"),
        (None, np.ones((2, 3)), waiting.row, "y must be one row; got 2 rows"),
        (None, good, None, "x is missing: give the next row, or row="),
        ([1.0, 2.0, np.inf], None, None, "contains infinity"),
        (X[:2], None, None, "x must be one row; got 2 rows"),
    ]:
        refuse(active, clf, words, x, y, row=row)
    refuse(ActiveLearner(0.1), clf, "row 0 asks for nothing: y must be None", X[START], Y[START])
    for answer, words in [
        ({"x": 1}, r"no label 'x': give an index below 3 or one of \['u', 'v', 'w'\]"),
        ({3: 1}, "no label 3"),
        ({-1: 1}, "no label -1"),
        ({"u": 2}, "0, 1 or NaN"),
        ({"u": "maybe"}, "label 'u' is 'maybe': answer 0 or 1, or yes or no"),
    ]:
        refuse(everything(), clf, words, X[START], answer)
    wide, clf = everything(), fitted()
    refuse(wide, clf, "no label 'u': give an index below 3[.]$", X[START], {"u": 1})


def test_models_that_cannot_be_asked():
    for model, words in [
        (EFCMLClassifier(), "fitted EFCMLClassifier: fit an initial part first; got EFCML"),
        (EFCMLClassifier(**QUICK).partial_fit(X[:5], Y[:5]), "holds warm-up rows"),
        (OneVsRestEFC(prior=1.0).fit(X[:20], Y[:20]), "got OneVsRestEFC"),
        (object(), "got object"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            ActiveLearner().ask(model, X[0])
        with pytest.raises((ValueError, TypeError)):
            prequential(model, X, Y, active=ActiveLearner())
    for options, words in [
        ({"active": object()}, "active must be an ActiveLearner; got object"),
        ({"active": ActiveLearner(), "delay": 1}, "for late answers use ask and tell"),
        ({"active": ActiveLearner(), "learn": False}, "active needs learn=True"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            prequential(fitted(), X, Y, **options)


def test_questions_of_another_model_are_refused():
    clf, wide = fitted(), everything()
    question = wide.ask(clf, X[0])
    narrow = EFCMLClassifier(**QUICK).fit(X[:, :1], Y)
    few = EFCMLClassifier(**QUICK).fit(X, Y[:, :2])
    match = "another model, with 3 features and 3 labels"
    for other in (narrow, few):
        refuse(wide, other, match, question, Y[0])
    wide.tell(clf, question)
    for other in (narrow, few):
        refuse(wide, other, match, None, Y[0], row=0)
    for twin in (copy.deepcopy(wide), pickle.loads(pickle.dumps(wide))):
        twin.tell(clf, twin.waiting[0], Y[0])
        assert twin.waiting == ()
    assert rows_open(wide) == [0]


def test_questions_of_another_active_learner_or_model_of_one_size_are_refused():
    clf, other = fitted(), fitted()
    active, stranger = everything(), everything()
    question = active.ask(clf, X[START])
    refuse(stranger, clf, "row 0 is of another active learner", question, Y[START])
    refuse(active, other, "asked for another model, .*: give that one", question, Y[START])
    for one in (active, stranger):
        one.tell(clf, X[START])
    refuse(stranger, clf, "of another active learner", active.waiting[0], Y[START])
    refuse(stranger, clf, "of another active learner", active.log[0], Y[START])
    refuse(active, other, "asked for another model", active.waiting[0], Y[START])
    refuse(active, other, "asked for another model", None, Y[START], row=0)
    twin, same = copy.deepcopy((active, clf))
    twin.tell(same, twin.waiting[0], Y[START])
    active.tell(clf, active.log[0], Y[START])
    assert twin.waiting == active.waiting == ()


def test_the_log_tells_everything():
    clf, active = named(), ActiveLearner(0.5, "labels", random_state=0)
    assert active.share == 0.0
    asked = play(active, clf)
    spent = 0
    for line, question in zip(active.log, asked, strict=True):
        spent += question.labels.sum()
        assert (line.row, line.reasons, line.x) == (question.row, question.reasons, None)
        assert np.array_equal(line.labels, question.labels)
        assert line.thresholds == question.thresholds
        assert line.after.spent == spent
        assert line.after.share == spent / (3 * (question.row + 1))
    assert pd.DataFrame(map(vars, active.log))["row"].tolist() == [one.row for one in asked]
    assert any(0 < len(one.names) < 3 for one in active.log)
    assert repr(active).endswith(f"'instability'), rows=40, spent={spent})")
    ax = plots.new_axes()
    assert active.plot(ax=ax) is ax
    counts = [sum(word in query.reasons for query in active.log) for word in active.criteria]
    rows, shares = ax.lines[0].get_data()
    assert (rows[-1], shares[-1]) == (39, active.share)
    assert [len(lines.get_segments()) for lines in ax.collections] == counts
    assert ActiveLearner().plot() is not None
    assert ActiveLearner(random_state=5).seed == 5
    assert ActiveLearner().seed != ActiveLearner().seed


class Naive:
    """The criteria of docs/active.md, row by row, on the arrays of a learner without gaps."""

    def __init__(self, budget, unit):
        self.budget, self.by_label = budget, unit == "labels"
        self.rows, self.spent, self.recent = 0, 0, 0.0
        self.ambiguity, self.instability = 0.6, 0.075

    def row(self, learner, x):
        """Return reasons and labels of the next row, and count it."""
        scores = learner.score(x[None])[0]
        size = len(scores) if self.by_label else 1
        self.rows += 1
        ambiguous = np.flatnonzero(np.abs(scores - 0.5) < self.ambiguity - 0.5)
        most = max(n for n in range(size + 1) if (self.spent + n) / (size * self.rows) <= BUDGET)
        reasons, labels = [], np.zeros(0, int)
        if most > 0 and self.recent / 100 < BUDGET:
            novel, unstable = self.look(learner, learner.scaler.transform(x[None]))
            fires = {"novelty": novel, "ambiguity": len(ambiguous) > 0}
            fires["instability"] = unstable > self.instability
            reasons = [word for word in fires if fires[word]]
            labels = ambiguous if reasons == ["ambiguity"] else np.arange(len(scores))
            labels = labels[np.argsort(np.abs(scores - 0.5)[labels], kind="stable")]
            labels = labels[:most] if self.by_label else np.arange(len(scores))
            labels = np.sort(labels) if reasons else labels[:0]
            share = len(ambiguous) / size if self.by_label else float(len(ambiguous) > 0)
            aim = BUDGET + max(0.0, BUDGET * self.rows - self.spent / size - 1.0) / 100
            top = BUDGET * (1.0 + 0.5 * (1.0 - BUDGET) ** 2)
            self.ambiguity = np.clip(self.ambiguity + 0.01 * (min(aim, top) - share), 0.5, 1.0)
            moved = self.instability * np.exp(0.1 * (fires["instability"] - min(aim, 1.0)))
            self.instability = np.clip(moved, 1e-9, 1.0)
        asked = len(labels) if self.by_label else float(len(labels) > 0)
        self.spent += asked
        self.recent = self.recent * 0.99 + asked / size
        return tuple(reasons), labels.tolist()

    def look(self, learner, rows):
        """Return whether no rule covers the row, and how much it would change a rule."""
        rules, p = learner.rules, rows.shape[1]
        distances, psi = rules.distances(rows)[0], rules.activations(rows)[0]
        i = int(np.argmax(psi))
        radius = rules.settings.vigilance * p ** (1 / np.sqrt(2))
        novel = np.sqrt(distances[i]) > radius / (1 - 1 / (rules.support[i] + 1)) ** 4
        found, r = [0.0], np.append(rows[0], 1.0)
        for i in np.flatnonzero(psi >= rules.settings.activation_floor):
            G, delta = whole(rules.G[i, 0].copy()), rules.Delta[i, 0, 0]
            share = (rules.seen[i, 0].min() + delta) / (G[-1, -1] + delta)
            P = np.linalg.inv(share * (G + np.diag(rules.Delta[i, 0])))
            new = np.linalg.inv(np.linalg.inv(P) + psi[i] * np.outer(r, r))
            found.append(1.0 - np.trace(new[:p, :p]) / np.trace(P[:p, :p]))
        return novel, max(found)


@pytest.mark.parametrize("unit", ["samples", "labels"])
def test_questions_are_those_of_the_formulas(unit):
    A, B = stream(400, seed=3)
    clf = EFCMLClassifier(**QUICK | {"vigilance": 0.6, "max_rules": 4}).fit(A[:50], B[:50])
    active, naive = ActiveLearner(BUDGET, unit), Naive(BUDGET, unit)
    reasons = set()
    for x, y in zip(A[50:], B[50:], strict=True):
        wanted = naive.row(clf.learner_, x)
        question = active.ask(clf, x)
        assert (question.reasons, np.flatnonzero(question.labels).tolist()) == wanted
        active.tell(clf, question, np.where(question.labels, y, np.nan) if question else None)
        assert active.share <= BUDGET
        reasons |= set(question.reasons)
    assert reasons == {"novelty", "ambiguity", "instability"}
    expected = {"ambiguity": naive.ambiguity, "instability": naive.instability}
    assert active.state.thresholds == pytest.approx(expected, rel=1e-9)


def test_novelty_is_the_birth_test_of_the_rules():
    options = QUICK | {"vigilance": njit(lambda distance, *_: distance > 4.0)}
    clf = EFCMLClassifier(**options).fit(X[:START], Y[:START])
    rules, novelty = clf.learner_.rules, ActiveLearner(1.0, criteria="novelty")
    rows = clf.learner_.scaler.transform(X)
    nearest = rules.activations(rows).argmax(axis=1)
    expected = rules.distances(rows)[np.arange(70), nearest] > 4.0
    assert [bool(novelty.ask(clf, x)) for x in X] == expected.tolist()
    assert 0 < expected.sum() < 70


@pytest.mark.parametrize("unit", ["samples", "labels"])
def test_any_split_of_a_stream_gives_the_same_questions(unit):
    A, B = stream(300)
    A[::7, 1] = np.nan
    at_once, parts = fitted(), fitted()
    one, other = (ActiveLearner(0.3, unit) for _ in range(2))
    prequential(at_once, A[START:], B[START:], active=one)
    for first, last in [(START, 31), (31, 48), (48, 150), (150, 300)]:
        prequential(parts, A[first:last], B[first:last], active=other)
    assert freeze([one.state, one.log]) == freeze([other.state, other.log])
    assert freeze(at_once.learner_) == freeze(parts.learner_)


def test_open_questions_about_sparse_rows_are_saved(tmp_path):
    A = scipy.sparse.random_array(
        (60, 400), density=0.1, rng=np.random.default_rng(0), format="csr"
    )
    B = (A[:, :2].toarray() > 0.0).astype(float)
    clf, active = EFCMLClassifier(prior=1.0).fit(A[:50], B[:50]), everything()
    active.tell(clf, A[[50]])
    save(active, tmp_path / "active.npz")
    save(clf, tmp_path / "model.npz")
    later, same = load(tmp_path / "active.npz"), load(tmp_path / "model.npz")
    for one, model in ((active, clf), (later, same)):
        one.tell(model, one.waiting[0], B[50])
    assert freeze(same.learner_.rules) == freeze(clf.learner_.rules)
