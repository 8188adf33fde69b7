"""The criteria of active learning, each once. Nothing slow is imported: the command line reads it.

A criterion of one's own is an entry of `CRITERIA`; its name can then be given to `ActiveLearner`,
saved and studied as the others::

    CRITERIA["rare"] = Criterion("label 3 is likely", lambda row: row.scores[3] > 0.4)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from efcml.active.active_learner import Row


class Criterion(NamedTuple):
    """When to ask."""

    meaning: str
    fires: Callable[[Row], bool]


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
