"""ActiveLearner: criteria times budget, for a person with an annotator and for `prequential`."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas

from efcml.active.criteria import ADAPTED, CRITERIA, USUAL, Row
from efcml.active.kernels import look_at_rows
from efcml.active.questions import (
    Asker,
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
        self.asker = Asker()  # by which it knows its own questions
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
        return self._question(model, learner, read_row(model, learner, x))

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
            return self._answer_late(model, learner, x, y, row)
        question = x
        if not isinstance(question, Question):
            question = self._question(model, learner, read_row(model, learner, x))
        if y is not None:
            if not question:
                raise ValueError(f"row {question.row} asks for nothing: y must be None.")
            learner.learn(question.x, read_answer(model, learner, y, question.labels, question.row))
        else:
            learner.pass_rows(1)
        self.state = replace(question.after)
        if question:
            self._note(question.row, question.reasons, question.labels, question.thresholds)
            if y is None:
                self._open[question.row] = question
                if len(self._open) > self.open_questions:
                    self._expired.add(oldest := next(iter(self._open)))
                    del self._open[oldest]
        return question

    def _refuse_foreign(self, question: Question, learner: Learner) -> None:
        """Refuse a question that this active learner did not ask, or not about this model."""
        if question.asker is not self.asker:
            raise ValueError(
                f"the question about row {question.row} is of another active learner: hand it to "
                "the one that asked, or give the row itself."
            )
        if question.x.shape[1] != learner.n_features or len(question.labels) > learner.n_labels:
            raise ValueError(
                f"the question about row {question.row} was asked for another model, with "
                f"{question.x.shape[1]} features and {len(question.labels)} labels."
            )

    def _answer_late(self, model: Any, learner: Learner, x: Any, y: Any, row: int) -> Question:
        """Learn the answer to an open question, which came ``self.rows - 1 - row`` rows late."""
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
        question = self._open[row]
        Y = read_answer(model, learner, y, question.labels, row)
        learner.learn(question.x, Y, late=self.rows - 1 - row)
        del self._open[row]
        return question

    def _question(self, model: Any, learner: Learner, X: Floats) -> Question:
        """Return the question about the next row; nothing is changed."""
        state, rows = replace(self.state), learner.scaler.transform(X)
        _, reasons, labels, thresholds, scores = self._find_question(learner, rows, state)
        labels.flags.writeable = scores.flags.writeable = False
        known = names_of(model)
        names = tuple(known.get(c, c) for c in np.flatnonzero(labels).tolist())
        facts = (self.rows, names, labels, reasons, thresholds)
        return Question(*facts, scores[0], X, state, self.asker)

    # -- what is asked ----------------------------------------------------------------------

    def _find_question(
        self, learner: Learner, rows: Floats, state: Spending
    ) -> tuple[int, tuple[str, ...], Bools, dict[str, float], Floats]:
        """Return which of the next rows, scaled, is worth a question, why, and about which labels.

        Besides the thresholds by which that was decided, and all scores. The rows are counted in
        ``state``; without any question it is their number. Nothing is learned between two
        questions, so a few rows at a time are scored ahead. Every row is looked at by itself:
        chunks change no bit.
        """
        scores = np.empty((len(rows), learner.n_labels))
        reasons: tuple[str, ...] = ()
        thresholds: dict[str, float] = {}
        labels = np.zeros(learner.n_labels, dtype=np.bool_)
        for first in range(0, len(rows), CHUNK):
            part = slice(first, first + CHUNK)
            filled = learner.fill(rows[part])
            scores[part] = learner.score_scaled(filled, ahead=first)
            novel, instability = self._look(learner, filled)
            for t, x in enumerate(filled):
                draw = 0.0
                if "random" in self.criteria:  # the same number whatever was asked before
                    draw = float(np.random.default_rng((self.seed, state.rows)).random())
                due = self.budget + self._saved_rows(state, learner.n_labels) / CATCH_UP
                seen = scores[first + t], novel[t], instability[t], draw, due
                thresholds = state.thresholds
                row = Row(x, *seen, thresholds, learner)
                reasons, labels = self._decide(row, state)
                if reasons:
                    return first + t, reasons, labels, thresholds, scores[: first + t + 1]
        return len(rows), reasons, labels, thresholds, scores

    def _look(self, learner: Learner, rows: Floats) -> tuple[list[bool], list[float]]:
        """Return which rows no rule covers, by the birth test of the rules, and the instability."""
        n = len(rows)
        likeliest, distance, instability = np.zeros(n, np.int64), np.zeros(n), np.zeros(n)
        novelty, unstable = "novelty" in self.criteria, "instability" in self.criteria
        rules, settings, novel = learner.rules, learner.rules.settings, [False] * n
        if novelty or unstable:
            floor = settings.activation_floor if unstable else np.inf
            kind, out = self.instability == "determinant", (likeliest, distance, instability)
            rows = rules.features.take(rows)
            look_at_rows(rows, rules.n_rules, floor, kind, rules.arrays, settings, *out)
        if novelty:
            pairs = zip(distance.tolist(), rules.support[likeliest].tolist(), strict=True)
            radius = settings.vigilance
            novel = [bool(rules.birth_test(far, float(rules.a), k, radius)) for far, k in pairs]
        return novel, instability.tolist()

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

        in_blocks(len(X), run, trace, after_block, learner=learner)

    def _run_block(
        self, learner: Learner, X: Floats, Y: Floats, block: slice, trace: Trace, queried: Bools
    ) -> None:
        rows, at = learner.scaler.transform(X[block]), block.start
        while at < block.stop:
            rest = rows[at - block.start :]
            count, reasons, labels, used, scores = self._find_question(learner, rest, self.state)
            trace.rules[at : at + count] = learner.n_rules
            scored = slice(at, at + len(scores))
            trace.take_answer(learner.answer_scores(scores), scored)
            trace.add_clipped(learner.scaler.count_clipped(X[scored]))
            learner.pass_rows(count)
            at += count
            if at == block.stop:
                break
            queried[at] = labels if queried.ndim == 2 else labels.any()
            scaler, part = learner.scaler, Trace.for_rows(1, Y.shape[1])
            learner.learn(X[at : at + 1], np.where(labels, Y[at], np.nan)[None], trace=part)
            trace.rules[at] = learner.n_rules
            part.clipped = None  # counted above
            trace.take_events(part, at)
            self._note(self.rows - 1, reasons, labels, used)
            at += 1
            if learner.scaler is not scaler:  # it follows the stream
                rows[at - block.start :] = learner.scaler.transform(X[at : block.stop])

    def _note(
        self, row: int, reasons: tuple[str, ...], labels: Bools, thresholds: dict[str, float]
    ) -> None:
        """Add a question, which the state has counted, to the log."""
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
        lines = [
            {
                "row": query.row,
                "reasons": " ".join(query.reasons),
                "labels": [names.get(c, c) for c in np.flatnonzero(query.labels).tolist()],
                **{f"{word}_threshold": query.thresholds[word] for word in ADAPTED},
                "spent": query.spent,
                "share": query.share,
            }
            for query in self._log
        ]
        thresholds = [f"{word}_threshold" for word in ADAPTED]
        columns = ["row", "reasons", "labels", *thresholds, "spent", "share"]
        return pandas.DataFrame(lines, columns=columns)

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
