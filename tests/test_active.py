"""ActiveLearner in the hands of a person: answers, late answers, errors, the log, the face."""

import copy
import pickle

import numpy as np
import pytest
from helpers.models import QUICK, stream
from helpers.streams import assert_identical, make_params, state_of

from efcml import ActiveLearner, EFCMLClassifier, OneVsRestEFC, plots, prequential
from efcml.active import Query, Question
from efcml.model.learner import Learner
from efcml.rivals import make_model

X, Y = stream(70)
START = 30


def fitted(labels=Y):
    return EFCMLClassifier(**QUICK).fit(X[:START], labels[:START])


def everything_of(active, clf):
    """All that an error must leave alone."""
    return (
        active.state.copy(),
        len(active.log),
        active.open,
        active.expired,
        state_of(clf.learner_),
    )


def assert_unchanged(active, clf, before):
    found = everything_of(active, clf)
    assert np.array_equal(found[0], before[0])
    assert found[1:4] == before[1:4]
    assert_identical(found[4], before[4])


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


# -- answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["samples", "labels"])
def test_ask_and_tell_is_prequential(unit):
    one, other = fitted(), fitted()
    active, same = ActiveLearner(0.4, unit), ActiveLearner(0.4, unit)
    asked = play(active, one)
    result = prequential(other, X[START:], Y[START:], active=same)
    assert asked
    assert_identical(state_of(one.learner_), state_of(other.learner_))
    assert [query.row for query in same.log] == [question.row for question in asked]
    assert result.queried.shape == ((40, 3) if unit == "labels" else (40,))
    assert result.queried.sum() == active.spent == same.spent
    assert result.rules[-1] == other.n_rules_
    frame = pytest.importorskip("pandas") and result.to_frame()
    assert frame["queried"].sum() == active.spent


def test_predictions_are_those_of_the_model():
    clf = fitted()
    expected = clf.decision_function(X[START:])
    active = ActiveLearner(0.5)
    for t in range(START, 70):
        question = active.tell(clf, X[t])  # never answered: the model stays as it is
        assert np.array_equal(question.scores - 0.5, expected[t - START])
    assert np.array_equal(clf.decision_function(X[START:]), expected)
    scores = prequential(clf, X[START:], Y[START:], active=ActiveLearner.all()).scores
    plain = prequential(fitted(), X[START:], Y[START:]).scores
    assert np.array_equal(scores, plain)


def test_late_answers_in_any_order():
    clf, twin = fitted(), fitted()
    active = ActiveLearner(0.5)
    asked = play(active, clf, answer=False)
    rows = [question.row for question in asked]
    assert active.open == tuple(rows)
    for row in reversed(rows):
        settled = active.tell(clf, None, Y[START + row], row=row)
        assert settled.row == row
        twin.learner_.learn(X[None, START + row], Y[None, START + row])
    assert active.open == ()
    assert active.expired == 0
    assert_identical(state_of(clf.learner_), state_of(twin.learner_))


def test_an_open_question_keeps_its_own_row():
    """A stream may use one buffer for all rows."""
    clf, twin, active = fitted(), fitted(), ActiveLearner.all()
    buffer = X[START].copy()
    question = active.tell(clf, buffer)
    buffer[:] = 1e6
    active.tell(clf, None, Y[START], row=0)
    twin.partial_fit(X[START : START + 1], Y[START : START + 1])
    assert_identical(state_of(clf.learner_), state_of(twin.learner_))
    with pytest.raises(ValueError, match="read-only"):
        question.labels[0] = False


def test_old_questions_expire():
    clf, active = fitted(), ActiveLearner.all(open_questions=3)
    play(active, clf, range(START, START + 5), answer=False)
    assert active.open == (2, 3, 4)
    assert active.expired == 2
    with pytest.raises(ValueError, match="row 1: it has expired: more than open_questions=3"):
        active.tell(clf, None, Y[START + 1], row=1)
    active.tell(clf, None, Y[START + 3], row=3)
    assert active.open == (2, 4)


def test_a_question_may_be_handed_over_instead_of_the_row():
    """What was asked counts, although a late answer has changed the model in between."""
    clf, active = fitted(), ActiveLearner.all("labels")
    late = active.tell(clf, X[START])
    question = active.ask(clf, X[START + 1])
    active.tell(clf, None, Y[START], row=late.row)
    assert active.tell(clf, question, Y[START + 1]) is question
    assert active.rows == 2
    with pytest.raises(ValueError, match="the next row is 2; the question given is of row 1"):
        active.tell(clf, question, Y[START + 1])


def test_an_annotator_may_not_know():
    clf, active = fitted(), ActiveLearner.all()
    weights = clf.learner_.rules.W.copy()
    active.tell(clf, X[START], np.full(3, np.nan))
    assert active.open == ()
    assert active.spent == 1
    assert np.array_equal(clf.learner_.rules.W, weights)
    active.tell(clf, X[START + 1], [1, np.nan, 0])
    assert clf.learner_.rules.n_groups == 3


def test_binary_targets_and_frames():
    pd = pytest.importorskip("pandas")
    words = np.array(["no", "yes"])[Y[:, 0].astype(int)]
    clf, plain = fitted(words), fitted(words)
    active = ActiveLearner.all()
    for t in range(START, 40):
        active.tell(clf, X[t], words[t])
    plain.partial_fit(X[START:40], words[START:40])
    assert_identical(state_of(clf.learner_), state_of(plain.learner_))
    table, labels = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=list("uvw"))
    clf = EFCMLClassifier(**QUICK).fit(table[:START], labels[:START])
    active = ActiveLearner.all()
    active.tell(clf, table.iloc[START], labels.iloc[START])
    active.tell(clf, table.iloc[[START + 1]], labels.iloc[[START + 1]])
    late = active.tell(clf, table.iloc[START + 2])
    active.tell(clf, None, labels.iloc[START + 2], row=late.row)
    with pytest.raises(ValueError, match="feature names"):
        active.ask(clf, table.iloc[START].rename({"a": "z"}))


def test_a_bare_learner_will_do():
    clf, learner = fitted(), fitted().learner_
    active, same = ActiveLearner(0.5), ActiveLearner(0.5)
    play(active, clf)
    play(same, learner)
    assert_identical(state_of(clf.learner_), state_of(learner))
    with pytest.raises(ValueError, match="x must be one row of 3 finite features"):
        same.ask(learner, [1.0, np.inf, 0.0])
    with pytest.raises(ValueError, match="y must be 3 labels of 0, 1 or NaN"):
        ActiveLearner.all().tell(learner, X[0], [0, 1, 2])


# -- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": 0.0}, "budget must be a number > 0 and <= 1; got 0"),
        ({"budget": 1.1}, "budget must be"),
        ({"budget": np.nan}, "budget must be"),
        ({"budget": "all"}, "budget must be"),
        ({"unit": "rows"}, "unit must be one of 'samples', 'labels'; got 'rows'"),
        ({"criteria": "novel"}, "criteria must be one of 'novelty', .*; got 'novel'"),
        ({"criteria": ("novelty", 3)}, "criteria must be one of"),
        ({"criteria": ()}, "criteria is empty"),
        ({"instability": "norm"}, "instability must be one of 'trace', 'determinant'"),
        ({"adaptation": None}, "adaptation must be one of"),
        ({"step": 0.0}, "step must be"),
        ({"step": 1}, "step must be"),
        ({"window": 0}, "window must be a whole number >= 1"),
        ({"open_questions": 0}, "open_questions must be a whole number >= 1"),
        ({"random_state": -1}, "random_state must be None or a whole number >= 0"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(ValueError, match=words):
        ActiveLearner(**options)


def test_bad_answers_change_nothing():
    clf, active = fitted(), ActiveLearner(0.6, "labels", "ambiguity", adaptation="none")
    rows = iter(range(START, 70))
    waiting = next(q for q in (active.tell(clf, X[t]) for t in rows) if 0 < q.labels.sum() < 3)
    answered = next(q for q in (active.tell(clf, X[t]) for t in rows) if q)
    active.tell(clf, None, np.where(answered.labels, 1.0, np.nan), row=answered.row)
    t = next(rows)
    asks_now = bool(active.ask(clf, X[t]))
    before = everything_of(active, clf)
    good = np.where(waiting.labels, 1.0, np.nan)
    for x, y, row, words in [
        (None, good, 10_000, "row 10000: it was never asked"),
        (None, good, "a", "row must be a whole number"),
        (None, good, answered.row, "it was answered already"),
        (None, np.ones(3), waiting.row, "only; y also gives .*: put NaN there"),
        (None, [1, 0], waiting.row, "y has 2 labels, but 3 are expected"),
        (None, 2 * good, waiting.row, "y must hold 0, 1 or NaN"),
        (None, np.ones((2, 3)), waiting.row, "y must be one row; got 2 rows"),
        (None, None, waiting.row, "needs y, and x must be None"),
        (X[0], good, waiting.row, "needs y, and x must be None"),
        (None, good, None, "x is missing: give the next row, or row="),
        ([1.0, 2.0], None, None, "features"),
        ([1.0, 2.0, np.inf], None, None, "contains infinity"),
        (X[:2], None, None, "x must be one row; got 2 rows"),
        (
            X[t],
            np.array([1, 0, 5]) if asks_now else np.ones(3),
            None,
            "0, 1 or NaN" if asks_now else "asks for nothing: y must be None",
        ),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            active.tell(clf, x, y, row=row)
        assert_unchanged(active, clf, before)


def test_an_answer_to_no_question():
    clf, active = fitted(), ActiveLearner(0.1)
    before = everything_of(active, clf)
    with pytest.raises(ValueError, match="row 0 asks for nothing: y must be None"):
        active.tell(clf, X[START], Y[START])
    assert_unchanged(active, clf, before)


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (EFCMLClassifier(), ValueError, "EFCMLClassifier is not fitted: fit an initial part"),
        (EFCMLClassifier(**QUICK).partial_fit(X[:5], Y[:5]), ValueError, "holds warm-up rows"),
        (OneVsRestEFC(**{"prior": 1.0}).fit(X[:20], Y[:20]), TypeError, "got OneVsRestEFC"),
        (make_model("rls").fit(X, Y), TypeError, "needs the rules of an EFCMLClassifier"),
        (Learner(make_params(), 3, 3, pairs=((0.1, 0.1),)), TypeError, "got Learner"),
        (object(), TypeError, "got object"),
    ],
)
def test_models_that_cannot_be_asked(model, error, words):
    with pytest.raises(error, match=words):
        ActiveLearner().ask(model, X[0])
    with pytest.raises((ValueError, TypeError)):
        prequential(model, X, Y, active=ActiveLearner())


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"active": object()}, TypeError, "active must be an ActiveLearner; got object"),
        ({"active": ActiveLearner(), "delay": 1}, ValueError, "for late answers use ask and tell"),
        ({"active": ActiveLearner(), "learn": False}, ValueError, "active needs learn=True"),
    ],
)
def test_prequential_refuses(options, error, words):
    clf = fitted()
    before = state_of(clf.learner_)
    with pytest.raises(error, match=words):
        prequential(clf, X, Y, **options)
    assert_identical(state_of(clf.learner_), before)
    with pytest.raises(TypeError, match="active needs an EFCMLClassifier; got int"):
        prequential(3, X, Y, active=ActiveLearner())


# -- what is told -----------------------------------------------------------------------------


def test_the_log_tells_everything():
    clf, active = fitted(), ActiveLearner(0.5, "labels", random_state=0)
    assert active.share == 0.0
    asked = play(active, clf)
    assert [type(line) for line in active.log] == [Query] * len(asked)
    spent = 0
    for line, question in zip(active.log, asked, strict=True):
        spent += question.labels.sum()
        assert line[:2] == (question.row, question.reasons)
        assert np.array_equal(line.labels, question.labels)
        assert line.thresholds == question.thresholds
        assert line.spent == spent
        assert line.share == spent / (3 * (question.row + 1))
    frame = pytest.importorskip("pandas") and active.to_frame()
    assert frame["row"].tolist() == [question.row for question in asked]
    assert frame["spent"].iloc[-1] == active.spent
    assert set(" ".join(frame["reasons"]).split()) <= set(active.criteria)
    assert list(ActiveLearner().to_frame().columns) == list(frame.columns)
    assert repr(active).startswith("ActiveLearner(budget=0.5, unit='labels', criteria=('novelty'")
    assert isinstance(copy.deepcopy(active).ask(clf, X[0]), Question)


def test_seeds():
    assert ActiveLearner(random_state=5).seed == ActiveLearner(random_state=5).seed
    assert ActiveLearner().seed != ActiveLearner().seed
    rows = []
    for seed in (0, 0, 1):
        active = ActiveLearner.random(0.3, random_state=seed)
        prequential(fitted(), X[START:], Y[START:], active=active)
        rows.append([query.row for query in active.log])
    assert rows[0] == rows[1] != rows[2]


def test_spending_as_a_picture():
    clf, active = fitted(), ActiveLearner(0.5)
    empty = active.plot()
    empty.figure.canvas.draw()
    play(active, clf)
    ax = plots.new_axes()
    assert active.plot(ax=ax) is ax
    words = [text.get_text() for text in ax.texts]
    counts = [sum(word in query.reasons for query in active.log) for word in active.criteria]
    expected = [f"{word} ({n})" for word, n in zip(active.criteria, counts, strict=True)]
    assert words == ["budget: 0.5", *expected]
    rows, shares = ax.lines[0].get_data()
    assert rows[-1] == 39
    assert shares[-1] == active.share
    ticks = [[path[0, 0] for path in lines.get_segments()] for lines in ax.collections]
    assert [len(found) for found in ticks] == counts
    assert plots.draw_spending([], budget=0.1).get_ylim()[0] == 0


# -- names, single labels, open questions -----------------------------------------------------


def named():
    return fitted().name_columns(label_names=["u", "v", "w"])


def test_labels_have_their_names_in_the_table():
    pytest.importorskip("pandas")
    clf, active = named(), ActiveLearner(0.5, unit="labels")
    play(active, clf)
    asked = [np.flatnonzero(query.labels).tolist() for query in active.log]
    assert any(0 < len(labels) < 3 for labels in asked)
    assert active.to_frame()["labels"].tolist() == asked
    assert active.to_frame(fitted())["labels"].tolist() == asked
    names = [["uvw"[c] for c in labels] for labels in asked]
    assert active.to_frame(clf)["labels"].tolist() == names


@pytest.mark.parametrize("bare", [False, True])
def test_single_labels_by_name_or_index(bare):
    one, other = named(), named()
    active, same = ActiveLearner.all(), ActiveLearner.all()
    for t in range(START, START + 6):
        y = np.array([Y[t, 0], np.nan, Y[t, 2]])
        answer = {0: int(Y[t, 0]), 2 if bare or t % 2 else "w": Y[t, 2]}
        active.tell(one.learner_ if bare else one, X[t], answer)
        same.tell(other, X[t], y)
    assert_identical(state_of(one.learner_), state_of(other.learner_))


def test_a_class_by_its_index():
    words = np.where(Y[:, 0] == 1, "yes", "no")
    one, other = fitted(words), fitted(words)
    active, same = ActiveLearner.all(), ActiveLearner.all()
    active.tell(one, X[START], {0: "yes"})
    same.tell(other, X[START], ["yes"])
    assert_identical(state_of(one.learner_), state_of(other.learner_))


@pytest.mark.parametrize(
    ("answer", "match"),
    [
        ({"x": 1}, r"no label 'x': give an index below 3 or one of \['u', 'v', 'w'\]"),
        ({3: 1}, "no label 3"),
        ({-1: 1}, "no label -1"),
        ({"u": 1, 0: 0}, "label 0 twice"),
        ({"u": 2}, "0, 1 or NaN"),
    ],
)
def test_bad_single_labels(answer, match):
    clf, active = named(), ActiveLearner.all()
    before = everything_of(active, clf)
    with pytest.raises(ValueError, match=match):
        active.tell(clf, X[START], answer)
    assert_unchanged(active, clf, before)


def test_labels_without_names_are_called_by_index():
    with pytest.raises(ValueError, match="no label 'u': give an index below 3[.]$"):
        ActiveLearner.all().tell(fitted(), X[START], {"u": 1})


def test_only_labels_that_were_asked():
    clf, active = named(), ActiveLearner(0.9, unit="labels")
    t = next(t for t in range(START, 70) if (q := active.ask(clf, X[t])) and not q.labels.all())
    question = active.ask(clf, X[t])
    other = int(np.flatnonzero(~question.labels)[0])
    with pytest.raises(ValueError, match="only; y also gives"):
        active.tell(clf, question, {other: 1})


def test_open_questions_are_there_to_be_answered():
    one, other = fitted(), fitted()
    active, same = ActiveLearner(0.5), ActiveLearner(0.5)
    asked = play(active, one, answer=False)
    play(same, other, answer=False)
    assert active.waiting
    assert [question.row for question in active.waiting] == list(active.open)
    assert [question.labels.tolist() for question in active.waiting] == [
        question.labels.tolist() for question in asked
    ]
    for question in active.waiting:
        truth = Y[START + question.row]
        assert active.tell(one, question, truth) is question
        same.tell(other, None, truth, row=question.row)
    assert active.waiting == ()
    assert_identical(state_of(one.learner_), state_of(other.learner_))
    with pytest.raises(ValueError, match="the next row is"):
        active.tell(one, question, truth)


def test_an_open_question_needs_an_answer():
    clf, active = fitted(), ActiveLearner(0.5)
    play(active, clf, answer=False)
    before = everything_of(active, clf)
    with pytest.raises(ValueError, match="needs y"):
        active.tell(clf, active.waiting[0])
    assert_unchanged(active, clf, before)


# -- whose question ---------------------------------------------------------------------------


def test_questions_of_another_learner_are_refused():
    clf = fitted()
    everything, careful = ActiveLearner.all(), ActiveLearner(budget=0.05)
    question = everything.ask(clf, X[0])
    with pytest.raises(ValueError, match="row 0 is of another active learner: hand it to the one"):
        careful.tell(clf, question, Y[0])
    assert (careful.rows, careful.spent) == (0, 0)
    everything.tell(clf, question)
    other = ActiveLearner.all()
    other.tell(clf, X[1])
    with pytest.raises(ValueError, match="of another active learner"):
        everything.tell(clf, other.waiting[0], Y[1])  # both wait for row 0
    everything.tell(clf, everything.waiting[0], Y[0])
    assert (everything.open, other.open) == ((), (0,))


def test_copies_know_their_own_questions():
    clf = fitted()
    active = ActiveLearner.all()
    active.tell(clf, X[0])
    for twin in (copy.deepcopy(active), pickle.loads(pickle.dumps(active))):
        with pytest.raises(ValueError, match="of another active learner"):
            twin.tell(clf, active.waiting[0], Y[0])
        twin.tell(clf, twin.waiting[0], Y[0])
        assert twin.open == ()


def test_questions_about_another_model_are_refused():
    clf = fitted()
    active = ActiveLearner.all()
    question = active.ask(clf, X[0])
    narrow = EFCMLClassifier(prior=1.0, max_rules=2).fit(X[:, :1], Y)
    with pytest.raises(ValueError, match="another model, with .* features and .* labels"):
        active.tell(narrow, question, Y[0])
