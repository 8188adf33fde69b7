"""What a stream run gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml import measures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from efcml.support.aliases import Bools, Floats, Ints

USUAL = ("pa", "ap")  # measures, where none are named
EVENTS = ("birth", "split", "merge", "drop", "drift")  # kinds


@dataclass(frozen=True, eq=False)  # two runs are the same if they are one: arrays have no one truth
class PrequentialResult:
    """What a stream run gives: raw scores before learning, and everything that follows from them.

    Samples without any true label have no average precision and are left out of ``ap`` and
    ``ap_trend``. A `trend` has one value per row: ``ap_trend`` is ``trend("ap")`` at the others.

    Attributes
    ----------
    Y : array of shape (n, K)
        True labels, NaN where unknown.
    scores : array of shape (n, K)
        Raw scores before the row was learned; 0.5 is the threshold where nothing else is said.
    rules : array of shape (n,)
        Number of rules after the row; 0 for models without rules.
    queried : array of shape (n,) or (n, K)
        Whether the labels of the row were given to the model; for every label if an active
        learner asks for single labels.
    events : tuple of (row, kind, uid)
        Births, splits, merges, drops and drifts of rules, in order. For models with one rule base
        per label the uid is ``label * 10**9 + uid``. Also (row, "began anew", reason) where other
        rules took over, and (row, "new scale", what) where features are measured otherwise.
    seconds : float
        Time spent in the model, over all rows: scoring and learning. Compiling does not count.
    decisions : array of shape (n, K) of bool
        What the model decided before the row was learned, as its ``decision`` asks for. Measures of
        decisions go by them.
    probabilities : array of shape (n, K)
        How likely it said each label was. Measures of probabilities go by them.
    """

    Y: Floats
    scores: Floats
    rules: Ints
    queried: Bools
    events: tuple[tuple[int, str, Any], ...]
    seconds: float
    decisions: Bools
    probabilities: Floats

    @property
    def seconds_per_sample(self) -> float:
        """Time spent in the model per row."""
        return self.seconds / len(self.Y)

    @property
    def ms_per_sample(self) -> float:
        """The same in milliseconds."""
        return 1e3 * self.seconds_per_sample

    @property
    def event_counts(self) -> dict[str, int]:
        """How many events of every kind there were: births, splits, merges, drops, drifts."""
        kinds = [kind for _, kind, _ in self.events]
        return {f"{kind}s": kinds.count(kind) for kind in EVENTS}

    @property
    def changes(self) -> list[str]:
        """What changed in the model as a whole, and why, as sentences."""
        kinds = {
            "began anew": "the model began anew",
            "new scale": "some features have a new scale",
        }
        return [
            f"After row {row} of the stream {kinds[kind]} ({why})."
            for row, kind, why in self.events
            if kind in kinds
        ]

    births = property(lambda self: self.event_counts["births"], doc="Number of rules born.")
    splits = property(lambda self: self.event_counts["splits"], doc="Number of rules cut in two.")
    merges = property(lambda self: self.event_counts["merges"], doc="Number of pairs merged.")
    drops = property(lambda self: self.event_counts["drops"], doc="Number of rules dropped.")
    drifts = property(
        lambda self: self.event_counts["drifts"], doc="How often a rule trusted its fast memory."
    )

    @property
    def pa(self) -> float:
        """Partial accuracy over all rows."""
        return self.measure("pa")

    @property
    def ap(self) -> float:
        """Average precision over the rows that have labels."""
        return self.measure("ap")

    @property
    def pa_trend(self) -> Floats:
        """Partial accuracy up to each row; NaN until the first known label."""
        return self.trend("pa")

    @property
    def ap_trend(self) -> Floats:
        """Average precision up to each row that has true labels; others have no value here."""
        return self.trend("ap")[(self.Y == 1).any(axis=1)]

    def taken_by(self, measure: str) -> Floats:
        """Return what a measure takes: decisions, scores or probabilities."""
        taken: dict[str, Any] = {"labels": self.decisions, "probabilities": self.probabilities}
        return taken.get(measures.find(measure).takes, self.scores)

    def measure(self, name: str) -> float:
        """Return one measure over all rows, by its name in `efcml.measures.MEASURES`."""
        return measures.find(name)(self.Y, self.taken_by(name), ready=True)

    def summary(self) -> dict[str, float]:
        """Return all measures over all rows, by their names in `efcml.measures.MEASURES`."""
        return {name: self.measure(name) for name in measures.MEASURES}

    def tallies(self, measure: str) -> Floats:
        """Return what every row adds to both sums of a measure, of shape (n, 2, L)."""
        return measures.find(measure).tallies(self.Y, self.taken_by(measure), ready=True)

    def trend(self, measure: str = "pa", *, window: int | None = None) -> Floats:
        """Return a measure up to each row, or of the last ``window`` rows; NaN where it has none.

        There is one value per row. A row without the measure, as one without labels has no average
        precision, repeats the value before, or leaves it to the other rows of the window.
        """
        predicted = self.taken_by(measure)
        return measures.trend(self.Y, predicted, measure, window=window, ready=True)

    def plot(
        self, measure: str | None = None, *, window: int | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw trends of this run; return the matplotlib Axes.

        Of a measure by name, or "rules"; "pa" and "ap" if none is given. With a ``window`` it is
        the measure of the last so many rows. `efcml.plots.draw_trends` compares runs.
        """
        from efcml import plots

        if measure == "rules":
            return plots.draw_rule_counts(self, ax=ax)
        curves = {}
        for name in USUAL if measure is None else (measure,):
            values = self.trend(name, window=window)
            rows = np.arange(min(window or 1, len(values)) - 1, len(values))  # of whole windows
            curves[measures.find(name).title] = rows, values[rows]
        span = "up to this row" if window is None else f"last {window} rows"
        return plots.draw_trends(curves, ax=ax, ylabel=span)

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame with one line per row; measures by row and up to the row."""
        import pandas as pd

        by_row = {name: measures.find(name).value_of(self.tallies(name)) for name in USUAL}
        trends = {f"{name}_trend": self.trend(name) for name in USUAL}
        queried = self.queried if self.queried.ndim == 1 else self.queried.sum(axis=1)
        return pd.DataFrame(by_row | trends | {"rules": self.rules, "queried": queried})

    def __repr__(self) -> str:
        return (
            f"PrequentialResult(n={len(self.Y)}, pa={self.pa:.4f}, ap={self.ap:.4f}, "
            f"rules={int(self.rules[-1])}, ms_per_sample={self.ms_per_sample:.3g})"
        )
