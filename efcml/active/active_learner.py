"""ActiveLearner: criteria times budget, for a person with an annotator and for `prequential`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from efcml.active import options
from efcml.active.answers import find_learner, label_names_of, read_answer, read_row
from efcml.active.asked_stream import run_stream
from efcml.active.criteria import ADAPTED, CRITERIA, USUAL
from efcml.active.draws import draws_for
from efcml.active.finding import find_question
from efcml.active.question import Asker, Query, Question
from efcml.active.store import OpenQuestions
from efcml.kernels import querying
from efcml.support.checks import check_whole
from efcml.support.declared import with_words
from efcml.support.extras import extra_for
from efcml.support.guard import one_at_a_time
from efcml.support.interrupts import interrupts_held

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from efcml.evaluation.blocks import AfterBlock
    from efcml.model.learner import Learner
    from efcml.model.trace import Trace
    from efcml.support.aliases import Bools, Floats


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
        criteria = options.read_criteria(criteria)
        self.steering = options.make_ask(
            budget, unit, criteria, instability, adaptation, step, window
        )
        check_whole("open_questions", open_questions, least=1)
        self.seed = options.read_seed(random_state)
        self.budget, self.unit, self.criteria = budget, unit, criteria
        self.instability, self.adaptation = instability, adaptation
        self.step, self.window, self.open_questions = step, window, open_questions
        self.random_state = random_state
        # For the kernels: the options as numbers, and what changes from row to row.
        self.state = options.start_state()
        self._log: list[Query] = []
        self._open = OpenQuestions(open_questions)
        self.asker = Asker()  # by which it knows its own questions

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
        """Return the `Question` about the next row of the stream; nothing is changed.

        Parameters
        ----------
        model : EFCMLClassifier or Learner
            Fitted on an initial part.
        x : array-like of shape (p,)
        """
        learner = find_learner(model)
        return self._question(learner, read_row(model, learner, x))

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
            that nobody knows it. Or only the labels that are known, by name or index:
            ``{"happy": 1, 3: 0}``. None if nothing was asked, or if the answer comes later.
        row : int, optional
            The row of an open question that is now answered; x is None then.

        Returns
        -------
        Question
            The one that was settled or opened.
        """
        learner = find_learner(model)
        if isinstance(x, Question):
            self._refuse_foreign(x, learner)
            if row is None and x.row in self._open.waiting:
                row, x = x.row, None
        if row is not None:
            return self._answer(model, learner, x, y, row)
        question = self._current(model, learner, x)
        if y is not None:
            if not question:
                raise ValueError(f"row {question.row} asks for nothing: y must be None.")
            Y = read_answer(model, learner, y, question.labels, question.row)
            learner.learn(question.x, Y)
        else:
            learner.pass_rows(1)
        self.state = question.after.copy()
        if question:
            self.note(question.row, question.labels, question.reasons, question.after)
            if y is None:
                self._open.add(question.row, question)
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

    def _current(self, model: Any, learner: Learner, x: Any) -> Question:
        """Return the question about the next row, made now or handed over."""
        if not isinstance(x, Question):
            return self._question(learner, read_row(model, learner, x))
        if x.row != self.rows:
            raise ValueError(f"the next row is {self.rows}; the question given is of row {x.row}.")
        return x

    def _answer(self, model: Any, learner: Learner, x: Any, y: Any, row: int) -> Question:
        if x is not None or y is None:
            raise ValueError("an answer to an earlier row needs y, and x must be None.")
        check_whole("row", row, least=0)
        question = self._open.find(row, was_asked=self._was_asked(row))
        Y = read_answer(model, learner, y, question.labels, row)
        learner.learn(question.x, Y)
        self._open.settle(row)
        return question

    def _question(self, learner: Learner, X: Floats) -> Question:
        """Return the question about the next row; nothing is changed."""
        state, wanted = self.state.copy(), np.zeros(learner.n_labels, dtype=np.bool_)
        scaled, draws = learner.scaler.transform(X), draws_for(self.seed, self.rows, 1)
        _, bits, scores = find_question(learner, scaled, draws, self.steering, state, wanted)
        reasons = options.reasons_of(bits)
        wanted.flags.writeable = scores.flags.writeable = False
        thresholds = options.read_thresholds(state, "USED_")
        return Question(self.rows, wanted, reasons, thresholds, scores[0], X, state, self.asker)

    def _was_asked(self, row: int) -> bool:
        at = bisect_left(self._log, row, key=lambda query: query.row)
        return at < len(self._log) and self._log[at].row == row

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
        single labels are.
        """
        learner = find_learner(model)
        run_stream(self, learner, X, Y, trace, queried, after_block=after_block)

    def note(self, row: int, labels: Bools, reasons: tuple[str, ...], state: Floats) -> None:
        """Add a question to the log; ``state`` is the one after its row was counted."""
        spent = int(state[querying.SPENT])
        share = spent / float(state[querying.ROOM])
        thresholds = options.read_thresholds(state, "USED_")
        self._log.append(Query(row, reasons, labels.copy(), thresholds, spent, share))

    def remember(self) -> tuple[Floats, int]:
        """Return what `put_back` needs to undo rows of a stream."""
        return self.state.copy(), len(self._log)

    def put_back(self, before: tuple[Floats, int]) -> None:
        """Undo the rows of a stream since `remember`."""
        self.state[:], length = before
        del self._log[length:]

    # -- what happened ----------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """Rows of the stream so far, which is the number of the next one."""
        return int(self.state[querying.ROWS])

    @property
    def spent(self) -> int:
        """Rows or labels asked so far."""
        return int(self.state[querying.SPENT])

    @property
    def share(self) -> float:
        """Share of all rows or labels that was asked; 0 before the first row."""
        return self.spent / max(float(self.state[querying.ROOM]), 1.0)

    @property
    def thresholds(self) -> dict[str, float]:
        """The thresholds for the next row."""
        return options.read_thresholds(self.state)

    @property
    def log(self) -> tuple[Query, ...]:
        """All questions asked, oldest first."""
        return tuple(self._log)

    @property
    def open(self) -> tuple[int, ...]:
        """Rows whose questions wait for an answer, oldest first."""
        return self._open.rows

    @property
    def waiting(self) -> tuple[Question, ...]:
        """The questions that wait for an answer, oldest first: a tuple of `Question`."""
        return tuple(self._open.waiting.values())

    @property
    def expired(self) -> int:
        """Number of questions that were never answered and had to make room."""
        return len(self._open.expired)

    def to_frame(self, model: Any = None) -> DataFrame:
        """Return the log as a pandas DataFrame, one line per question.

        Parameters
        ----------
        model : EFCMLClassifier, optional
            Where the labels have their names from. Without it, or if it has none, they are indices.
        """
        with extra_for("to_frame"):
            import pandas

        names = label_names_of(model)
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
