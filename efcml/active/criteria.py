"""The criteria of active learning, each once. Nothing slow is imported: the command line reads it.

A criterion of one's own is an entry of `CRITERIA`; its name can then be given to `ActiveLearner`,
saved and studied as the others::

    CRITERIA["rare"] = Criterion("label 3 is likely", lambda row: row.scores[3] > 0.4)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from efcml.model.learner import Learner
    from efcml.support.aliases import Floats


class Row(NamedTuple):
    """The next row of a stream, as criteria see it; what no criterion in use needs is 0."""

    x: Floats  # (p,), scaled, none missing
    scores: Floats  # (K,)
    novel: bool  # whether a rule would be born from it
    instability: float  # largest share that learning it would take from P of an active rule
    draw: float  # random, from 0 to 1
    due: float  # share of rows that would use up the budget
    thresholds: Mapping[str, float]
    learner: Learner


@dataclass(frozen=True)
class Criterion:
    """When to ask; ``threshold`` is the one at the start, and ``usual`` ones are the default."""

    meaning: str
    fires: Callable[[Row], bool]
    usual: bool = False
    threshold: float | None = None


CRITERIA = {
    "novelty": Criterion("no rule covers the row", lambda row: row.novel, usual=True),
    "ambiguity": Criterion(
        "a score near 0.5",
        lambda row: abs(row.scores - 0.5).min() < row.thresholds["ambiguity"] - 0.5,
        usual=True,
        threshold=0.6,
    ),
    "instability": Criterion(
        "learning the row would change a rule much",
        lambda row: row.instability > row.thresholds["instability"],
        usual=True,
        threshold=0.075,
    ),
    "random": Criterion("as often as the budget allows", lambda row: row.draw < row.due),
    "all": Criterion("every row", lambda row: True),
}
USUAL = tuple(word for word, one in CRITERIA.items() if one.usual)
ADAPTED = tuple(word for word, one in CRITERIA.items() if one.threshold is not None)
