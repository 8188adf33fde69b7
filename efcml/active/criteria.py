"""The criteria of active learning, each once. Nothing slow is imported: the command line reads it.

A criterion has a switch, which is its field of ``Ask`` (kernels/querying.py). In capitals it is its
bit there; so are the places of its threshold in the state, if it has one.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Criterion:
    """When to ask; ``threshold`` is the one at the start, and ``usual`` ones are the default."""

    switch: str
    meaning: str
    usual: bool = False
    threshold: float | None = None


CRITERIA = {
    "novelty": Criterion("novelty", "no rule covers the row", usual=True),
    "ambiguity": Criterion("ambiguity", "a score near 0.5", usual=True, threshold=0.6),
    "instability": Criterion(
        "instability", "learning the row would change a rule much", usual=True, threshold=0.075
    ),
    "random": Criterion("chance", "as often as the budget allows"),
    "all": Criterion("always", "every row"),
}
USUAL = tuple(word for word, one in CRITERIA.items() if one.usual)
ADAPTED = tuple(word for word, one in CRITERIA.items() if one.threshold is not None)
