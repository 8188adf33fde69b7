"""ActiveLearner: criteria times budget, for a person with an annotator and for `prequential`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike

from efcml.estimators.targets import one_row
from efcml.evaluation.blocks import AfterBlock, in_blocks
from efcml.kernels.linalg import whole
from efcml.kernels.planes import SLOW
from efcml.model.learner import Learner
from efcml.model.trace import Trace
from efcml.support.aliases import Bools, Facts, Floats
from efcml.support.checks import check_choice, check_number, check_whole
from efcml.support.declared import with_words
from efcml.support.files import without_nan
from efcml.support.guard import interrupts_held, one_at_a_time
from efcml.support.masks import densify
from efcml.support.states import WHOLE, check_all, shorten, take
from efcml.tables.reading import FLAGS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHUNK = 16  # rows that are scored ahead; those after a question are scored again
STEP = 0.01  # of the threshold of ambiguity
RELATIVE_STEP = 0.1  # of that of instability, whose size depends on the number of features
LEAST_INSTABILITY = 1e-9  # of the threshold, so that relative steps can lift it again
WINDOW = 100  # rows over which spending is evened out
MOST_BOOST = 0.5  # of the aim of ambiguity while budget is saved; more would pick worse rows
CATCH_UP = 10.0  # rows over which chance makes up for what it has not spent
FIRST = {"ambiguity": 0.6, "instability": 0.075}  # thresholds


class Spending(NamedTuple):
    """How much was asked so far, in rows or labels, and the thresholds for the next row."""

    rows: int = 0
    room: int = 0  # units that could have been asked
    spent: int = 0
    recent: float = 0.0  # rows asked, the older the less they count
    thresholds: dict[str, float] = FIRST

    @property
    def share(self) -> float:
        """Share of all rows or labels that was asked; 0 before the first row."""
        return self.spent / max(self.room, 1)

    @classmethod
    def from_facts(cls, facts: Any) -> Self:
        """Build one from what JSON has of it, or refuse what no stream leads to."""
        state, counts = cls(*facts), dict.fromkeys(("rows", "room", "spent"), WHOLE)
        take(state._asdict(), "the spending", **counts, recent=float, thresholds=dict)
        take(state.thresholds, "the spending", **dict.fromkeys(FIRST, float))
        low, high = (state.thresholds[name] for name in FIRST)
        good = state.spent <= state.room >= state.rows and 0.0 <= state.recent <= WINDOW
        good &= 0.5 <= low <= 1.0 and LEAST_INSTABILITY <= high < math.inf
        check_all(good, "it has spent what no stream leads to")
        return state


@dataclass
class Row:
    """The next row of a stream, as criteria see it."""

    x: Floats  # (p,), scaled, none missing
    scores: Floats  # (K,)
    thresholds: dict[str, float]
    due: float  # share of rows that would use up the budget
    seed: tuple[int, int]
    learner: Learner

    @property
    def draw(self) -> float:
        """A random number from 0 to 1, the same whatever was asked before."""
        return float(np.random.default_rng(self.seed).random())

    @cached_property
    def psi(self) -> Floats:
        """The activations of the rules."""
        return self.learner.rules.activations(self.x[None])[0]

    @property
    def novel(self) -> bool:
        """Whether a rule would be born from it."""
        rules, i = self.learner.rules, int(self.psi.argmax())
        e = self.x[rules.features.numbers] - rules.center[i, : rules.a]
        distance, support = e @ whole(rules.marginal[i].copy()) @ e, float(rules.support[i])
        return bool(rules.birth_test(distance, float(rules.a), support, rules.settings.vigilance))

    @property
    def instability(self) -> float:
        """The largest share that learning it would take from P of a rule that is active.

        That is of the trace over the slopes, in closed form and without forgetting, of the label
        that the rule knows least of: its P would be larger by ``1/a`` (`planes.count_known`).
        """
        rules, psi, most = self.learner.rules, self.psi, 0.0
        r = np.append(rules.features.take(self.x[None])[0], 1.0)
        for i in np.flatnonzero(psi >= rules.settings.activation_floor):
            P, prior = whole(rules.P[i, SLOW].copy()), rules.Delta[i, SLOW, 0]
            v = P @ r
            a = (rules.seen[i, SLOW].min() + prior) / (rules.G[i, SLOW, -1, -1] + prior)
            rest = (a + psi[i] * (r @ v)) * np.trace(P[:-1, :-1])
            most = max(most, psi[i] * (v[:-1] @ v[:-1]) / rest) if rest > 0.0 else most
        return float(most)


class Criterion(NamedTuple):
    """When to ask.

    One of your own is an entry of `CRITERIA`; its name can then be given to `ActiveLearner`, saved
    and studied as the others.
    """

    meaning: str
    fires: Callable[[Row], bool]


def fires(name: str, row: Row) -> bool:
    """Tell whether the criterion of a name fires, or say what it has to be."""
    try:
        answer = CRITERIA[name].fires(row)
    except Exception as error:
        did = f"raised {type(error).__name__} ({shorten(error, 80)})"
        raise ValueError(f"the criterion {name!r} {did}: {CONTRACT}.") from error
    if not isinstance(answer, bool | np.bool_):
        did = f"returned {shorten(repr(answer), 40)}"
        raise ValueError(f"the criterion {name!r} {did}: {CONTRACT}.")
    return bool(answer)


CONTRACT = (
    "a criterion is CRITERIA['a name'] = Criterion('its meaning', function), given by its name, and"
    " the function takes a Row and returns True or False"
)

CRITERIA = {
    "novelty": Criterion("no rule covers the row", lambda row: row.novel),
    "ambiguity": Criterion(
        "a score near 0.5",
        lambda row: abs(row.scores - 0.5).min() < row.thresholds["ambiguity"] - 0.5,
    ),
    "instability": Criterion(
        "learning the row would change a rule much",
        lambda row: row.instability > row.thresholds["instability"],
    ),
    "random": Criterion("as often as the budget allows", lambda row: row.draw < row.due),
    "all": Criterion("every row", lambda row: True),
}
USUAL = ("novelty", "ambiguity", "instability")


@dataclass(frozen=True, eq=False)
class Question:
    """What is wanted of one row. True if any label is.

    Attributes
    ----------
    row : int
        Number of the row in the stream of the active learner, from 0.
    names : tuple
        The labels to give, by name, or by index if the model knows no names.
    labels : bool array of shape (K,)
        The same by place; all False if nothing is asked.
    reasons : tuple of str
        The criteria that fired.
    thresholds : dict
        By criterion, as they were when this was decided.
    scores : array of shape (K,)
        What the model says of the row.
    after : Spending
        What was spent, this question included.
    """

    row: int
    names: tuple[str | int, ...]
    labels: Bools = field(repr=False)
    reasons: tuple[str, ...]
    thresholds: dict[str, float] = field(repr=False)
    scores: Floats = field(repr=False)
    after: Spending = field(repr=False)
    x: Any = field(repr=False)  # (1, p), checked, not scaled; None in the log
    asker: str | None = field(repr=False)  # the identity of the active learner; None in the log
    asked: Any = field(repr=False)  # a weak reference to the learner; None in copies and the log

    def __post_init__(self) -> None:
        self.labels.flags.writeable = self.scores.flags.writeable = False

    def __getstate__(self) -> Facts:
        return vars(self) | {"asked": None}  # that of a copy is another one

    def __bool__(self) -> bool:
        return bool(self.labels.any())

    def check_model(self, learner: Learner) -> None:
        """Refuse another model while that of the question exists, and any of another size.

        A learner would trust the features. Which model it was no copy and no file tells.
        """
        known = self.asked and self.asked()
        other = known is not None and known is not learner
        if other or self.x.shape != (1, learner.n_features) or len(self.labels) > learner.n_labels:
            raise ValueError(
                f"the question about row {self.row} was asked for another model, with "
                f"{self.x.shape[1]} features and {len(self.labels)} labels: give that one."
            )

    @classmethod
    def from_facts(cls, facts: Facts, asker: str | None, rows: int) -> Self:
        """Build one of the first rows from what `facts` returned, or refuse it.

        One with an asker is open, and has its features.
        """
        kinds: Facts = {"row": range(rows), "names": list, "labels": list, "reasons": list}
        kinds |= {"thresholds": dict, "scores": list, "after": list}
        take(facts, "a question", **kinds, x=type(None) if asker is None else list)
        after, labels = Spending.from_facts(facts["after"]), np.array(facts["labels"])
        scores, x = (np.array(facts[name], np.float64) for name in ("scores", "x"))
        good: Any = labels.dtype == bool and labels.ndim == 1 and np.isfinite(scores).all()
        good &= scores.shape == labels.shape and 0 < labels.sum() == len(facts["names"])
        if asker is not None:
            good &= x.ndim == 2 and len(x) == 1 and not np.isinf(x).any()
        check_all(good, f"the question about row {facts['row']} has labels or features of no row")
        kept: Facts = {name: tuple(facts[name]) for name in ("names", "reasons")}
        kept |= {"labels": labels, "scores": scores, "after": after, "asker": asker}
        return cls(**facts | kept | {"x": None if asker is None else x, "asked": None})

    def facts(self) -> Facts:
        """Return all that is saved of it."""
        kept = {name: part for name, part in vars(self).items() if name not in ("asker", "asked")}
        return kept | {"x": densify(self.x)}


@with_words(criteria="\n".join(f'"{word}": {one.meaning}.' for word, one in CRITERIA.items()))
class ActiveLearner:
    """Chooses rows, or single labels, of a stream to ask for, within a budget.

    It never changes what a model predicts; it only decides what the model learns. One object
    belongs to one stream: thresholds and spending go on from call to call.

    Parameters
    ----------
    budget : float in (0, 1]
        Largest share of rows (or labels) asked, kept at every point of the stream.
    unit : {"samples", "labels"}
        What is counted and asked: whole rows or single labels.
    criteria : str or iterable of str
        When to ask; any that fires asks.
        {criteria}
    random_state : int or None
        Seed of "random".

    Attributes
    ----------
    log : list of Question
        Row, labels, reasons, thresholds and spending of every question; not its features. A table
        of it is ``pandas.DataFrame(map(vars, active.log))``.
    state : Spending
        Rows so far, what was spent, and the thresholds for the next row.

    Examples
    --------
    >>> from efcml import ActiveLearner, EFCMLClassifier, datasets
    >>> ds = datasets.load("drifting-clusters", n=150, n_initial=100)
    >>> clf = EFCMLClassifier().fit(*ds.initial)
    >>> active = ActiveLearner(budget=0.2)
    >>> for x, y in zip(*ds.stream):
    ...     question = active.ask(clf, x)
    ...     _ = active.tell(clf, x, y if question else None)
    >>> active.rows, active.share <= 0.2
    (50, True)
    """

    def __init__(
        self,
        budget: float = 0.1,
        unit: str = "samples",
        criteria: str | Iterable[str] = USUAL,
        *,
        random_state: int | None = None,
    ) -> None:
        several = isinstance(criteria, Iterable) and not isinstance(criteria, str)
        criteria = tuple(criteria) if several else (criteria,)  # type: ignore[assignment]
        if not all(isinstance(word, str) for word in criteria):
            raise ValueError(f"criteria must be names: {CONTRACT}.")
        check_number("budget", budget, above=0.0, most=1.0)
        check_choice("unit", unit, ("samples", "labels"))
        if not criteria:
            raise ValueError(f"criteria is empty: name some of {', '.join(map(repr, CRITERIA))}.")
        for word in criteria:
            check_choice("every one of the criteria", word, CRITERIA)
        self.budget, self.unit, self.criteria = budget, unit, criteria
        self.random_state = random_state
        if random_state is not None:
            check_whole("random_state", random_state, least=0)
        self.seed = int(np.random.SeedSequence(random_state).entropy) % 2**63  # type: ignore[arg-type]
        self.identity = token_hex(8)  # no other one has it, but a copy
        self.state = Spending()
        self.log: list[Question] = []
        self._open: dict[int, Question] = {}  # by their rows, in order

    @classmethod
    def random(cls, budget: float = 0.1, unit: str = "samples", **more: Any) -> Self:
        """Return one that asks at random and spends the same budget."""
        return cls(budget, unit, "random", **more)

    # -- one row at a time ------------------------------------------------------------------

    @one_at_a_time
    def ask(self, model: Any, x: ArrayLike) -> Question:
        """Return the `Question` about the next row ``x`` of the stream; nothing is changed.

        The model is an EFCMLClassifier that is fitted on an initial part.
        """
        learner = find_learner(model)
        X = read_row(model, x)
        rows = learner.fill(learner.scaled(X))
        return self._look(model, X, rows[0], learner.score_scaled(rows)[0])

    @one_at_a_time
    @interrupts_held()
    def tell(
        self,
        model: Any,
        x: ArrayLike | Question | None,
        y: ArrayLike | Mapping[Any, Any] | None = None,
        *,
        row: int | None = None,
    ) -> Question:
        """Complete the next row of the stream, or answer an open question.

        Parameters
        ----------
        model : EFCMLClassifier
        x : array-like of shape (p,), or Question
            The row, or what ``ask`` returned for it, if the model may have learned something else
            in between. An open question, one of ``waiting``, is answered.
        y : array-like of shape (K,), or dict, optional
            0 or 1 for the labels asked, NaN for the others; NaN for a label that was asked means
            that nobody knows it. Or only the labels that are known, by name or index, also in
            words: ``{"happy": 1, 3: "no"}``. None if nothing was asked, or if the answer comes
            later.
        row : int, optional
            The row of an open question that is now answered, in place of x.

        The question that was settled or opened is returned.
        """
        learner, asked = find_learner(model), isinstance(x, Question)
        if isinstance(x, Question):
            if x.asker != self.identity and not any(x is one for one in self.log):
                raise ValueError(f"the question about row {x.row} is of another active learner.")
            row = x.row if x.row != self.rows else row
        if row is not None:
            question = self._find_open(row, y)
            question.check_model(learner)
            learner.learn(question.x, read_answer(model, y, question), late=self.rows - 1 - row)
            return self._open.pop(row)
        question = x if asked else self.ask(model, x)  # type: ignore[assignment, arg-type]
        question.check_model(learner)
        if y is None:
            learner.pass_rows(1)
        elif question:
            learner.learn(question.x, read_answer(model, y, question))
        else:
            raise ValueError(f"row {question.row} asks for nothing: y must be None.")
        self._count(question)
        if question and y is None:
            self._open[question.row] = question
        return question

    def _find_open(self, row: int, y: Any) -> Question:
        """Return the open question about a row that is to be answered, or say why there is none."""
        check_whole("row", row, least=0)
        if row not in self._open:
            asked = any(question.row == row for question in self.log)
            why = "was answered already" if asked else "was never asked"
            raise ValueError(f"no answer is expected for row {row}: it {why}.")
        if y is None:
            raise ValueError("an answer to an earlier row needs y.")
        return self._open[row]

    # -- what is asked ----------------------------------------------------------------------

    def _look(self, model: Any, X: Floats, x: Floats, scores: Floats) -> Question:
        """Return the question about the next row X (1, p), scaled x (p,).

        Thresholds move if anything may be asked.
        """
        K, state, thresholds = len(scores), self.state, self.state.thresholds
        labels, size = np.zeros(K, dtype=np.bool_), K if self.unit == "labels" else 1
        reasons: tuple[str, ...] = ()
        allowed = self._allowance(state, size)
        if allowed:
            saved = self.budget * (state.rows + 1.0) - state.spent / size  # rows
            due, seed = self.budget + saved / CATCH_UP, (self.seed, state.rows)
            row = Row(x, scores, thresholds, due, seed, model.learner_)
            firing = [word for word in CRITERIA if word in self.criteria]
            reasons = tuple(word for word in firing if fires(word, row))
            gaps, radius = np.abs(scores - 0.5), thresholds["ambiguity"] - 0.5
            if reasons and self.unit == "samples":
                labels[:] = True
            elif reasons:  # the most ambiguous come first
                best = np.argsort(gaps, kind="stable")[:allowed]
                labels[best] = True if reasons != ("ambiguity",) else gaps[best] < radius
            share = min(int((gaps < radius).sum()), size) / size
            thresholds = self._adapted(thresholds, saved, share, "instability" in reasons)
        asked = int(labels.sum()) if self.unit == "labels" else int(labels.any())
        recent = state.recent * (WINDOW - 1.0) / WINDOW + asked / size
        counts = state.rows + 1, state.room + size, state.spent + asked
        names = getattr(model, "label_names_", range(K))
        return Question(
            row=state.rows,
            names=tuple(names[c] for c in np.flatnonzero(labels).tolist()),
            labels=labels,
            reasons=reasons,
            thresholds=state.thresholds,
            scores=scores,
            after=Spending(*counts, recent, thresholds),
            x=X,
            asker=self.identity,
            asked=ref(model.learner_),
        )

    def _allowance(self, state: Spending, size: int) -> int:
        """Return how many units may be asked of the next row.

        At every prefix ``spent / room <= budget``. Besides, the recent share stays below the
        budget, so that what was saved in a quiet time is not spent at once.
        """
        if self.budget < 1.0 and state.recent / WINDOW >= self.budget:
            return 0
        room = state.room + size
        count = min(size, math.floor(self.budget * room) + 1 - state.spent)
        while count > 0 and (state.spent + count) / room > self.budget:
            count -= 1
        return max(count, 0)

    def _adapted(
        self, thresholds: dict[str, float], saved: float, ambiguous: float, unstable: bool
    ) -> dict[str, float]:
        """Return the thresholds for the next row; they move only while a question is allowed.

        Each is to let its criterion fire as often as the budget allows: for that share of rows, or
        of labels; more often while rows beyond the next one are saved.
        """
        most = self.budget * (1.0 + MOST_BOOST * (1.0 - self.budget) ** 2)
        aim = min(1.0, self.budget + max(0.0, saved - 1.0) / WINDOW)
        low = thresholds["ambiguity"] + STEP * (min(most, aim) - ambiguous)
        high = thresholds["instability"] * math.exp(RELATIVE_STEP * (unstable - aim))
        limits = max(0.5, low), max(LEAST_INSTABILITY, high)
        return dict(zip(FIRST, (min(1.0, limit) for limit in limits), strict=True))

    # -- a whole stream ---------------------------------------------------------------------

    @one_at_a_time
    def run_stream(
        self,
        model: Any,
        X: Floats,
        Y: Floats,
        trace: Trace,
        queried: Bools,
        *,
        after_block: AfterBlock,
    ) -> None:
        """Score checked rows, ask, and learn the answers; `prequential` calls this.

        What happens is noted in the trace, what was asked in ``queried``: (n,), or (n, K) if
        single labels are. An interrupt leaves learner and active learner as after a whole block.
        """
        in_blocks(len(Y), partial(self._run_block, model, X, Y, trace, queried), trace, after_block)

    def _run_block(
        self, model: Any, X: Floats, Y: Floats, trace: Trace, queried: Bools, block: slice
    ) -> None:
        learner, first = find_learner(model), block.start
        while first < block.stop:
            rows = learner.fill(learner.scaled(X[first : min(first + CHUNK, block.stop)]))
            scores = learner.score_scaled(rows, np.arange(len(rows)))
            for t, x in enumerate(rows, first):
                question = self._look(model, X[t : t + 1], x, scores[t - first].copy())
                self._count(question)
                if question:
                    break
            looked, row = slice(first, t + 1), slice(t, t + 1)
            trace.take_answer(learner.answer_scores(scores[: t + 1 - first]), looked)
            trace.rules[looked] = learner.n_rules
            learner.pass_rows(t + 1 - first - bool(question))
            if question:
                part = Trace.for_rows(1, Y.shape[1])
                queried[row] = question.labels if queried.ndim == 2 else True
                learner.learn(X[row], np.where(question.labels, Y[row], np.nan), trace=part)
                trace.rules[row] = learner.n_rules
                trace.take_events(part, t)
            first = t + 1

    def _count(self, question: Question) -> None:
        """Go on to the row after this one, and note what was asked of it."""
        self.state = question.after
        if question:
            self.log.append(replace(question, x=None, asker=None, asked=None))

    # -- what happened ----------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """Rows of the stream so far, which is the number of the next one."""
        return self.state.rows

    @property
    def spent(self) -> int:
        """Rows or labels asked so far."""
        return self.state.spent

    @property
    def share(self) -> float:
        """Share of all rows or labels that was asked; 0 before the first row."""
        return self.state.share

    @property
    def waiting(self) -> tuple[Question, ...]:
        """The questions that wait for an answer, oldest first: a tuple of `Question`."""
        return tuple(self._open.values())

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the spending along the stream and the criteria; return the matplotlib Axes."""
        from efcml.plots import draw_spending

        rows = {word: [q.row for q in self.log if word in q.reasons] for word in self.criteria}
        curve = [(question.row, question.after.share) for question in self.log]
        if self.rows:
            curve.append((self.rows - 1, self.share))
        return draw_spending(curve, budget=self.budget, reasons=rows, ax=ax, unit=self.unit)

    def __repr__(self) -> str:
        return (
            f"ActiveLearner(budget={self.budget:g}, unit={self.unit!r}, "
            f"criteria={self.criteria!r}, rows={self.rows}, spent={self.spent})"
        )

    # -- state ------------------------------------------------------------------------------

    @one_at_a_time
    def facts(self) -> Facts:
        """Return all that is saved of it, as JSON can hold it."""
        names = "budget", "unit", "criteria", "random_state", "seed", "state"
        facts = {name: getattr(self, name) for name in names}
        for name, questions in (("log", self.log), ("waiting", self.waiting)):
            facts[name] = [one.facts() for one in questions]
        return without_nan(facts)

    @classmethod
    def from_facts(cls, facts: Facts) -> Self:
        """Build one from what `facts` returned, or refuse it."""
        options = facts["budget"], facts["unit"], facts["criteria"]
        active = cls(*options, random_state=facts["random_state"])
        active.seed, active.state = facts["seed"], Spending.from_facts(facts["state"])
        check_whole("seed", active.seed, least=0)
        rows = active.rows
        active.log += [Question.from_facts(one, None, rows) for one in facts["log"]]
        waiting = [Question.from_facts(one, active.identity, rows) for one in facts["waiting"]]
        asked, opened = ([one.row for one in part] for part in (active.log, waiting))
        good = asked == sorted({*asked}) and opened == sorted({*opened} & {*asked})
        check_all(good, "rows are asked twice, or wait for answers that nobody asked for")
        active._open |= {one.row: one for one in waiting}
        return active


# -- rows and answers as people bring them --------------------------------------------------


def find_learner(model: Any) -> Learner:
    """Return the learner of a model, or refuse the model with a sentence."""
    kind, learner = type(model).__name__, getattr(model, "learner_", None)
    if not isinstance(learner, Learner):
        what = "the rules of a fitted EFCMLClassifier"
        raise TypeError(f"active learning needs {what}: fit an initial part first; got {kind}.")
    if not learner.fitted:
        raise ValueError("the model still holds warm-up rows: fit an initial part first.")
    return learner


def read_row(model: Any, x: Any) -> Floats:
    """Return one row of features as checked floats of shape (1, p); a copy, it may be kept."""
    if x is None:
        raise ValueError("x is missing: give the next row, or row=... for an open question.")
    X = model.check_features(one_row(x, "x"))
    return X.copy() if hasattr(X, "toarray") else np.array(X, order="C")


def read_answer(model: Any, y: Any, question: Question) -> Floats:
    """Return an answer to a question as checked floats of shape (1, K)."""
    Y = model.check_labels(one_row(spread_out(model, y) if isinstance(y, Mapping) else y, "y"), 1)
    asked = np.flatnonzero(question.labels)
    extra = np.setdiff1d(np.flatnonzero(~np.isnan(Y[0])), asked)
    if extra.size:
        raise ValueError(
            f"row {question.row} asks for the labels {asked.tolist()} only; y also gives "
            f"{extra.tolist()}: put NaN there."
        )
    return Y


def spread_out(model: Any, answer: Mapping[Any, Any]) -> list[Any]:
    """Return an answer by name or index as one value per label, NaN where it says nothing.

    Words such as yes and no are 1 and 0, unless they are classes of a 1-D target.
    """
    K, names = model.learner_.n_labels, list(getattr(model, "label_names_", ()))
    classes = model.classes_ if model._binary else ()
    places = {name: c for c, name in enumerate(names)} | {c: c for c in range(K)}
    values: list[Any] = [float("nan")] * K
    for label, value in answer.items():
        if label not in places:
            known = f" or one of {names}" if names else ""
            raise ValueError(f"there is no label {label!r}: give an index below {K}{known}.")
        if isinstance(value, str) and value not in classes:
            if value.strip().casefold() not in FLAGS:
                raise ValueError(f"label {label!r} is {value!r}: answer 0 or 1, or yes or no.")
            value = FLAGS[value.strip().casefold()]
        values[places[label]] = value
    return values
