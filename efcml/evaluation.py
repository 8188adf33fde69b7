"""Test-then-train: every row is predicted, scored, then learned, in one pass."""

import time
from dataclasses import dataclass

import numpy as np

from efcml import measures
from efcml.learner import Trace


@dataclass(frozen=True)
class PrequentialResult:
    """What a stream run gives: raw scores before learning, and everything that follows from them.

    Samples without any label have no average precision and are left out of ``ap`` and
    ``ap_trend``.
    """

    Y: np.ndarray
    scores: np.ndarray
    rules: np.ndarray
    queried: np.ndarray
    events: tuple
    seconds_per_sample: float

    @property
    def pa(self):
        """Partial accuracy over all rows."""
        return measures.partial_accuracy(self.Y, self._labels)

    @property
    def ap(self):
        """Label-ranking average precision over the rows that have labels."""
        return measures.average_precision(self.Y, self.scores)

    @property
    def pa_trend(self):
        """Partial accuracy up to each row; NaN until the first known label."""
        right = np.cumsum((self.Y == self._labels).sum(axis=1))
        known = np.cumsum((~np.isnan(self.Y)).sum(axis=1))
        return np.divide(right, known, out=np.full(len(right), np.nan), where=known > 0)

    @property
    def ap_trend(self):
        """Average precision up to each row that has labels."""
        rows = measures.average_precision_rows(self.Y, self.scores)
        return measures.running_mean(rows[~np.isnan(rows)])

    @property
    def _labels(self):
        return (self.scores >= 0.5).astype(float)

    def plot(self, ax=None):
        """Draw both measures up to each row, and return the matplotlib Axes."""
        from efcml.plots import draw_trends

        rows = np.arange(len(self.Y))
        ranked = measures.running_mean(measures.average_precision_rows(self.Y, self.scores))
        curves = {"partial accuracy": (rows, self.pa_trend), "average precision": (rows, ranked)}
        return draw_trends(curves, ax=ax, ylabel="up to this row")

    def to_frame(self):
        """Return a pandas DataFrame with one line per row; measures by row and up to the row."""
        import pandas

        ap = measures.average_precision_rows(self.Y, self.scores)
        return pandas.DataFrame(
            {
                "pa": measures.partial_accuracy_rows(self.Y, self._labels),
                "ap": ap,
                "pa_trend": self.pa_trend,
                "ap_trend": measures.running_mean(ap),
                "rules": self.rules,
                "queried": self.queried,
            }
        )

    def count(self, kind):
        """Return how many events of a kind ("birth", "merge", "drop") there were."""
        return sum(event[1] == kind for event in self.events)

    def __repr__(self):
        return (
            f"PrequentialResult(n={len(self.Y)}, pa={self.pa:.4f}, ap={self.ap:.4f}, "
            f"rules={int(self.rules[-1])}, ms_per_sample={1e3 * self.seconds_per_sample:.3g})"
        )


def prequential(model, X, Y, active=None, learn=True):
    """Run a model over the rows given, test-then-train, and return what happened.

    The model is changed, as after ``partial_fit`` on the same rows. The loop runs inside the
    kernels.

    Parameters
    ----------
    model : EFCMLClassifier
        Fitted on an initial part, or new.
    X, Y : array-like of shape (n, p) and (n, K)
        The stream.
    active : None
        Every label is learned. Active learners are not available yet.
    learn : bool
        False predicts only: a static model, which must be fitted and is not changed.

    Returns
    -------
    PrequentialResult
        Scores, trends, rule counts, events and time.

    Examples
    --------
    >>> from efcml import EFCMLClassifier, datasets, prequential
    >>> ds = datasets.load("drifting-clusters", n=400, n_initial=200)
    >>> clf = EFCMLClassifier().fit(*ds.initial)
    >>> result = prequential(clf, *ds.stream)
    >>> result.scores.shape
    (200, 5)
    """
    if active is not None:
        raise NotImplementedError("active learning is not available yet: use active=None.")
    if isinstance(model, type) or not hasattr(model, "begin_stream"):
        got = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise TypeError(f"prequential needs an EFCMLClassifier instance; got {got}.")
    if np.shape(X)[:1] == (0,):
        raise ValueError("the stream has no rows: X is empty.")
    learner, X, Y = model.begin_stream(X, Y, learn=learn)
    trace = Trace.for_rows(len(X), Y.shape[1])
    begin = time.perf_counter()
    if learn:
        learner.learn(X, Y, trace=trace)
    else:
        trace.scores[:] = learner.score(X)
        trace.rules[:] = learner.n_rules
    seconds = (time.perf_counter() - begin) / len(X)
    queried = np.full(len(X), learn)
    return PrequentialResult(Y, trace.scores, trace.rules, queried, tuple(trace.events), seconds)
