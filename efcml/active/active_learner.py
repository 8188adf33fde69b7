"""ActiveLearner: criteria times budget, for a person with an annotator and for `prequential`."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import pandas

from efcml.active.criteria import ADAPTED, CRITERIA, USUAL, Row
from efcml.active.kernels import look_at_rows
from efcml.active.questions import (
    Query,
    Question,
    Spending,
    find_learner,
    names_of,
    read_answer,
    read_row,
)
from efcml.evaluation.blocks import in_blocks
from efcml.model.trace import Trace
from efcml.support.checks import check_choice, check_number, check_whole
from efcml.support.declared import with_words
from efcml.support.guard import interrupts_held, one_at_a_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from efcml.evaluation.blocks import AfterBlock
    from efcml.model.learner import Learner
    from efcml.support.aliases import Bools, Floats

    Decision: TypeAlias = tuple[tuple[str, ...], Bools, dict[str, float], Floats]

CHUNK = 16  # rows that are scored ahead; those after a question are scored again
RELATIVE_STEP = 10.0  # steps of the instability threshold, in steps of the other one
LEAST_INSTABILITY = 1e-9  # of the threshold, so that relative steps can lift it again
MOST_BOOST = 0.5  # of the aim of ambiguity while budget is saved; more would pick worse rows
CATCH_UP = 10.0  # rows over which chance makes up for what it has not spent


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
    instability : {"trace", "determinant"}
        Share of the trace over the slopes (the paper; below 1/p for new rules), or of the
        determinant, which does not depend on the number of features.
    adaptation : {"quantile", "multiplicative", "none"}
        How thresholds move: so that each criterion fires as often as the budget allows, or by a
        fixed share after every row (Zliobaite et al. 2014).
    step : float in (0, 1)
        Size of these moves.
    window : int
        Rows over which spending is evened out.
    open_questions : int
        How many questions may wait for an answer. The oldest expire.
    random_state : int or None
        Seed of "random".

    Attributes
    ----------
    log : tuple of Query
        Row, reasons, labels, thresholds and spending of every question.
    expired : int
        Questions that were never answered and had to make room.

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
        instability: str = "trace",
        adaptation: str = "quantile",
        step: float = 0.01,
        window: int = 100,
        open_questions: int = 1000,
        random_state: int | None = None,
    ) -> None:
        criteria = (criteria,) if isinstance(criteria, str) else tuple(criteria)
        check_number("budget", budget, above=0.0, most=1.0)
        check_choice("unit", unit, ("samples", "labels"))
        if not criteria:
            raise ValueError(f"criteria is empty: name some of {', '.join(map(repr, CRITERIA))}.")
        for word in criteria:
            check_choice("every one of the criteria", word, CRITERIA)
        check_choice("instability", instability, ("trace", "determinant"))
        check_choice("adaptation", adaptation, ("quantile", "multiplicative", "none"))
        check_number("step", step, above=0.0, below=1.0)
        check_whole("window", window, least=1)
        check_whole("open_questions", open_questions, least=1)
        self.budget, self.unit, self.criteria = budget, unit, criteria
        self.instability, self.adaptation = instability, adaptation
        self.step, self.window, self.open_questions = step, window, open_questions
        self.random_state = random_state
        if random_state is None:  # one from the system
            random_state = np.random.SeedSequence().entropy  # type: ignore[assignment]
        check_whole("random_state", random_state, least=0)
        self.seed = int(random_state) % 2**63  # type: ignore[arg-type]
        starts: dict[str, Any] = {word: CRITERIA[word].threshold for word in ADAPTED}
        self.state = Spending(**starts)
        self._asker = object()  # by which it knows its own questions
        self._log: list[Query] = []
        self._open: dict[int, Question] = {}  # by their rows, in order
        self._expired: set[int] = set()  # rows

    @classmethod
    def random(cls, budget: float = 0.1, unit: str = "samples", **more: Any) -> Self:
        """Return one that asks at random and spends the same budget."""
        return cls(budget, unit, ("random",), **more)

    @classmethod
    def all(cls, unit: str = "samples", **more: Any) -> Self:
        """Return one that asks for everything."""
        return cls(1.0, unit, ("all",), **more)

    # -- one row at a time ------------------------------------------------------------------

    @one_at_a_time
    def ask(self, model: Any, x: ArrayLike) -> Question:
        """Return the `Question` about the next row ``x`` of the stream; nothing is changed.

        The model is an EFCMLClassifier, or its learner, that is fitted on an initial part.
        """
        learner = find_learner(model)
        X, state, names = read_row(model, learner, x), replace(self.state), names_of(model)
        ((reasons, labels, thresholds, scores),) = self._decide_rows(learner, X, state)
        asked = tuple(names.get(c, c) for c in np.flatnonzero(labels).tolist())
        facts = (self.rows, asked, labels, reasons, thresholds, scores)
        return Question(*facts, X, state, self._asker)

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
        model : EFCMLClassifier or Learner
        x : array-like of shape (p,), or Question
            The row, or what ``ask`` returned for it. Hand over the question itself if the model
            may have learned something else in between. An open question, one of ``waiting``, is
            answered.
        y : array-like of shape (K,), or dict, optional
            0 or 1 for the labels asked, NaN for the others; NaN for a label that was asked means
            that nobody knows it. Or only the labels that are known, by name or index, also in
            words: ``{"happy": 1, 3: "no"}``. None if nothing was asked, or if the answer comes
            later.
        row : int, optional
            The row of an open question that is now answered; x is None then.

        The question that was settled or opened is returned.
        """
        learner = find_learner(model)
        if isinstance(x, Question):
            self._refuse_foreign(x, learner)
            if row is None and x.row != self.rows:
                row, x = x.row, None
        if row is not None:
            question = self._find_open(row, x, y)
            self._refuse_foreign(question, learner)
            Y = read_answer(model, learner, y, question)
            learner.learn(question.x, Y, late=self.rows - 1 - row)
            return self._open.pop(row)
        question = x if isinstance(x, Question) else self.ask(model, x)  # type: ignore[arg-type]
        if y is None:
            learner.pass_rows(1)
        elif question:
            learner.learn(question.x, read_answer(model, learner, y, question))
        else:
            raise ValueError(f"row {question.row} asks for nothing: y must be None.")
        self.state = replace(question.after)
        if question:
            self._note(question.reasons, question.labels, question.thresholds)
            if y is None:
                self._open[question.row] = question
                if len(self._open) > self.open_questions:
                    self._expired.add(oldest := next(iter(self._open)))
                    del self._open[oldest]
        return question

    def _find_open(self, row: int, x: Any, y: Any) -> Question:
        """Return the open question that is to be answered, or say why there is none."""
        check_whole("row", row, least=0)
        if x is None and row not in self._open:
            why = "was never asked"
            if row in self._expired:
                why = f"has expired: more than open_questions={self.open_questions} were open"
            elif any(query.row == row for query in self._log):
                why = "was answered already"
            raise ValueError(f"no answer is expected for row {row}: it {why}.")
        if x is not None or y is None:
            raise ValueError("an answer to an earlier row needs y, and x must be None.")
        return self._open[row]

    def _refuse_foreign(self, question: Question, learner: Learner) -> None:
        """Refuse a question that this active learner did not ask, or not about this model."""
        about = f"the question about row {question.row}"
        if question.asker is not self._asker:
            raise ValueError(
                f"{about} is of another active learner: hand it to the one that asked, or give the"
                " row itself."
            )
        if question.x.shape != (1, learner.n_features) or len(question.labels) > learner.n_labels:
            raise ValueError(
                f"{about} was asked for another model, with {question.x.size} features and "
                f"{len(question.labels)} labels."
            )

    # -- what is asked ----------------------------------------------------------------------

    def _decide_rows(self, learner: Learner, X: Floats, state: Spending) -> Iterator[Decision]:
        """Yield why to ask of each next row, for which labels, the thresholds and the scores.

        The rows are counted in ``state``, up to the first that is asked: once it is learned, all
        is looked at anew. Each is looked at by itself: it changes no bit how many there are.
        """
        rows = learner.fill(learner.scaled(X))
        scores, rules, settings = learner.score_scaled(rows), learner.rules, learner.rules.settings
        likeliest, (distance, instability) = np.zeros(len(rows), np.int64), np.zeros((2, len(rows)))
        novelty, unstable = "novelty" in self.criteria, "instability" in self.criteria
        if novelty or unstable:
            floor = settings.activation_floor if unstable else np.inf
            kind, out = self.instability == "determinant", (likeliest, distance, instability)
            seen = rules.features.take(rows)
            look_at_rows(seen, rules.n_rules, floor, kind, rules.arrays, settings, *out)
        for t, x in enumerate(rows):
            novel, draw = False, 0.0
            if novelty:
                far, support = float(distance[t]), rules.support[int(likeliest[t])].item()
                novel = bool(rules.birth_test(far, float(rules.a), support, settings.vigilance))
            if "random" in self.criteria:  # the same number whatever was asked before
                draw = float(np.random.default_rng((self.seed, state.rows)).random())
            due = self.budget + self._saved_rows(state, learner.n_labels) / CATCH_UP
            seen, thresholds = (novel, float(instability[t]), draw, due), state.thresholds
            reasons, labels = self._decide(Row(x, scores[t], *seen, thresholds, learner), state)
            yield reasons, labels, thresholds, scores[t]
            if reasons:
                return

    def _decide(self, row: Row, state: Spending) -> tuple[tuple[str, ...], Bools]:
        """Return why the next row is asked, and for which labels; count it in ``state``."""
        K = len(row.scores)
        labels, size = np.zeros(K, dtype=np.bool_), self._units(K)
        reasons: tuple[str, ...] = ()
        allowed = self._allowance(state, size)
        if allowed:
            gaps, radius = np.abs(row.scores - 0.5), state.ambiguity - 0.5
            ambiguous = int((gaps < radius).sum())
            firing = [word for word in CRITERIA if word in self.criteria]
            reasons = tuple(word for word in firing if CRITERIA[word].fires(row))
            if reasons and self.unit == "samples":
                labels[:] = True
            elif reasons:  # the most ambiguous come first
                best = np.argsort(gaps, kind="stable")[:allowed]
                labels[best] = True if reasons != ("ambiguity",) else gaps[best] < radius
            saved, share = self._saved_rows(state, K), min(ambiguous, size) / size
            self._adapt(state, saved, share, reasons)
        asked = int(labels.sum()) if self.unit == "labels" else int(labels.any())
        state.rows += 1
        state.room += size
        state.spent += asked
        state.recent = state.recent * (self.window - 1.0) / self.window + asked / size
        return reasons, labels

    def _units(self, n_labels: int) -> int:
        """Return what can be asked of one row."""
        return n_labels if self.unit == "labels" else 1

    def _allowance(self, state: Spending, size: int) -> int:
        """Return how many units may be asked of the next row.

        At every prefix ``spent / room <= budget``. Besides, the recent share stays below the
        budget, so that what was saved in a quiet time is not spent at once.
        """
        if self.budget < 1.0 and state.recent / self.window >= self.budget:
            return 0
        room = state.room + size
        count = min(size, math.floor(self.budget * room) + 1 - state.spent)
        while count > 0 and (state.spent + count) / room > self.budget:
            count -= 1
        return max(count, 0)

    def _saved_rows(self, state: Spending, n_labels: int) -> float:
        """Return how many rows the budget up to the next row has left."""
        return self.budget * (state.rows + 1.0) - state.spent / self._units(n_labels)

    def _adapt(
        self, state: Spending, saved: float, ambiguous: float, reasons: tuple[str, ...]
    ) -> None:
        """Move the thresholds in use; called only while the budget allows a question.

        Quantile tracking moves each so that its criterion fires as often as the budget allows: for
        that share of rows, or of labels; more often while rows beyond the next one are saved. The
        other way follows Zliobaite et al. 2014: every question makes the criteria stricter, every
        row without one more lenient.
        """
        low, high, step = state.ambiguity, state.instability, self.step
        if self.adaptation == "quantile":
            most = self.budget * (1.0 + MOST_BOOST * (1.0 - self.budget) ** 2)
            aim = min(1.0, self.budget + max(0.0, saved - 1.0) / self.window)
            low += step * (min(most, aim) - ambiguous)
            high *= math.exp(RELATIVE_STEP * step * (("instability" in reasons) - aim))
        elif self.adaptation == "multiplicative":
            low *= 1.0 - step if reasons else 1.0 + step
            high *= 1.0 + step if reasons else 1.0 - step
        if "ambiguity" in self.criteria:
            state.ambiguity = min(1.0, max(0.5, low))
        if "instability" in self.criteria:
            state.instability = min(1.0, max(LEAST_INSTABILITY, high))

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
        single labels are. If something breaks off, learner and active learner are left as after
        the last whole block.
        """
        learner = find_learner(model)

        def run(block: slice) -> float:
            state, length = replace(self.state), len(self._log)
            begin = time.perf_counter()
            try:
                self._run_block(learner, X, Y, block, trace, queried)
            except BaseException:
                self.state = state
                del self._log[length:]
                raise
            return time.perf_counter() - begin

        in_blocks(len(Y), run, trace, after_block, learner=learner)

    def _run_block(
        self, learner: Learner, X: Floats, Y: Floats, block: slice, trace: Trace, queried: Bools
    ) -> None:
        at = block.start
        while at < block.stop:
            ahead = X[at : min(at + CHUNK, block.stop)]
            decided = [*self._decide_rows(learner, ahead, self.state)]
            reasons, labels, thresholds, _ = decided[-1]
            at, looked = at + len(decided), slice(at, at + len(decided))
            scores = np.array([row[-1] for row in decided])
            trace.take_answer(learner.answer_scores(scores), looked)
            trace.add_clipped(learner.scaler.count_clipped(learner.inside(X[looked])))
            trace.rules[looked] = learner.n_rules
            learner.pass_rows(len(decided) - bool(reasons))
            if reasons:
                row, part = slice(at - 1, at), Trace.for_rows(1, Y.shape[1])
                queried[row] = labels if queried.ndim == 2 else True
                learner.learn(X[row], np.where(labels, Y[row], np.nan), trace=part)
                trace.rules[row] = learner.n_rules
                part.clipped = None  # counted above
                trace.take_events(part, row.start)
                self._note(reasons, labels, thresholds)

    def _note(self, reasons: tuple[str, ...], labels: Bools, thresholds: dict[str, float]) -> None:
        """Add a question to the log, which the state has counted."""
        row = self.rows - 1
        query = Query(row, reasons, labels.copy(), thresholds, self.spent, self.share)
        self._log.append(query)

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
        return self.spent / max(self.state.room, 1)

    @property
    def thresholds(self) -> dict[str, float]:
        """The thresholds for the next row."""
        return self.state.thresholds

    @property
    def log(self) -> tuple[Query, ...]:
        """All questions asked, oldest first."""
        return tuple(self._log)

    @property
    def open(self) -> tuple[int, ...]:
        """Rows whose questions wait for an answer, oldest first."""
        return tuple(self._open)

    @property
    def waiting(self) -> tuple[Question, ...]:
        """The questions that wait for an answer, oldest first: a tuple of `Question`."""
        return tuple(self._open.values())

    @property
    def expired(self) -> int:
        """Number of questions that were never answered and had to make room."""
        return len(self._expired)

    def to_frame(self, model: Any = None) -> pandas.DataFrame:
        """Return the log as a DataFrame, one line per question; labels by the names of a model."""
        names = names_of(model)
        frame = pandas.DataFrame(self._log, columns=Query._fields)
        frame["reasons"] = frame["reasons"].map(" ".join)
        asked = [np.flatnonzero(query.labels).tolist() for query in self._log]
        frame["labels"] = [[names.get(c, c) for c in labels] for labels in asked]
        thresholds = frame.pop("thresholds")
        for i, word in enumerate(ADAPTED):
            frame.insert(3 + i, f"{word}_threshold", [one[word] for one in thresholds])
        return frame

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the spending along the stream and the criteria; return the matplotlib Axes."""
        from efcml.plots import draw_spending

        rows = {word: [q.row for q in self._log if word in q.reasons] for word in self.criteria}
        curve = [(query.row, query.share) for query in self._log]
        if self.rows:
            curve.append((self.rows - 1, self.share))
        return draw_spending(curve, budget=self.budget, reasons=rows, ax=ax, unit=self.unit)

    def __repr__(self) -> str:
        return (
            f"ActiveLearner(budget={self.budget:g}, unit={self.unit!r}, "
            f"criteria={self.criteria!r}, rows={self.rows}, spent={self.spent})"
        )
