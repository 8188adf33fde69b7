"""LabelLayer: decisions and probabilities from scores, and what their errors teach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from efcml.kernels.labelling import WILDEST, follow_rows, label_rows
from efcml.model.answers_of_rows import Answer
from efcml.model.arguments import Labels
from efcml.model.calibration import ScoreCalibration
from efcml.model.label_thresholds import LabelThresholds
from efcml.model.labels_together import LabelsTogether
from efcml.support.states import nest, pick

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Floats, Shapes

PARTS = {
    "together": LabelsTogether,
    "calibration": ScoreCalibration,
    "thresholds": LabelThresholds,
}


class LabelLayer:
    """What comes after the scores of a model; scores themselves it does not change."""

    def __init__(self, n_labels: int) -> None:
        self._adopt(LabelsTogether(n_labels), ScoreCalibration(n_labels), LabelThresholds(n_labels))

    def _adopt(
        self, together: LabelsTogether, calibration: ScoreCalibration, thresholds: LabelThresholds
    ) -> None:
        self.together, self.calibration, self.thresholds = together, calibration, thresholds
        self._renew_arrays()

    def _renew_arrays(self) -> None:
        self.arrays = Labels(*(part.arrays for part in self._parts().values()))

    def _parts(self) -> dict[str, LabelsTogether | ScoreCalibration | LabelThresholds]:
        return {name: getattr(self, name) for name in PARTS}

    def begin(self, errors: Floats, Y: Floats) -> None:
        """Start from rows of a batch and errors there, without the own row; NaN if unknown."""
        wild = ~(np.abs(errors) <= WILDEST)  # or unknown
        errors, Y = np.where(wild, np.nan, errors), np.where(wild, np.nan, Y)
        scores = np.where(wild, 0.0, Y - errors)
        self.together.begin(errors)
        self.calibration.begin(scores, Y)
        self.thresholds.begin(scores, Y)

    def follow(
        self, shown: Floats, learned: Floats, Y: Floats, kept: Floats, decision: int
    ) -> Answer:
        """Go through rows of a stream; return what is said of those shown.

        ``shown`` are scores that were given out, row t before row t was learned; ``learned`` the
        scores that the learned rows themselves had then, with labels ``Y``. ``kept`` is what each
        of them leaves of the rows before.
        """
        found = Answer(shown, np.empty_like(shown), np.empty_like(shown))
        follow_rows(shown, learned, Y, kept, decision, self.arrays, *found[1:])
        return found

    def answer(self, scores: Floats, decision: int, known: Floats | None = None) -> Answer:
        """Return what is said of rows with these scores, given the labels that are known."""
        Y = np.full_like(scores, np.nan) if known is None else known
        found = Answer(*(np.empty_like(scores) for _ in range(3)))
        label_rows(Y, scores, decision, self.arrays, *found)
        return found

    def add_labels(self, count: int) -> None:
        """Take in labels that no row so far had; their scores were 0."""
        for part in self._parts().values():
            part.add_labels(count)
        self._renew_arrays()

    def copy(self) -> LabelLayer:
        """Return an independent copy."""
        other = LabelLayer.__new__(LabelLayer)
        other._adopt(self.together.copy(), self.calibration.copy(), self.thresholds.copy())
        return other

    def state(self) -> Arrays:
        """Return a copy of every array, for saving."""
        return nest(**{name: part.state() for name, part in self._parts().items()})

    @staticmethod
    def state_shapes(n_labels: int) -> Shapes:
        """Return type and shape of every array of a state with so many labels; nothing is made."""
        return nest(**{name: kind.state_shapes(n_labels) for name, kind in PARTS.items()})

    def restore(self, fields: Arrays) -> Self:
        """Take over what :meth:`state` returned."""
        for name, part in self._parts().items():
            part.restore(pick(fields, name))
        return self

    def __getstate__(self) -> tuple[int, Arrays]:
        return self.together.n_labels, self.state()

    def __setstate__(self, state: tuple[int, Arrays]) -> None:
        LabelLayer.__init__(self, state[0])
        self.restore(state[1])
