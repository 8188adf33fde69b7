"""The second, brief memory of the rules, and the recent cases (how_it_works.md 8).

The brief memory is a rule base of its own with the Gaussians of the first and planes that forget
quickly (kernels/memory.py). Whatever is done to the one is done to the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from efcml.kernels.memory import DRIFTING, NEWS, brief_share
from efcml.model.casebase import CaseBase
from efcml.model.merging import solve_weights

if TYPE_CHECKING:
    from efcml.model.rulebase import RuleBase
    from efcml.support.aliases import Events, Floats

COUNTED_FIELDS = ("decided", "decided_sum", "decided_known", "decided_ones")
# Kernels change these in the long memory alone.
SHARED_FIELDS = (
    *("center", "joint_precision", "input_precision", "log_det"),
    *("support", "updates", "prior_share", "tested", "last_won"),
    *COUNTED_FIELDS,
)
MOST_RECENT = 25  # cases; there is next to nothing left of older ones
RECENT_WIDTH, RECENT_NOISE = 1.0, 0.3  # they reach further, and are taken less for chance


def begin_brief(rules: RuleBase) -> RuleBase:
    """Return a memory that has seen what the rules have; its planes are those of least squares."""
    brief = rules.copy()
    for rule in range(brief.n_rules):
        solve_weights(brief, rule)
    return brief


def recent_cases(n_features: int, n_planes: int, *, room: bool) -> CaseBase:
    """Return recent cases that know nothing yet; without ``room`` there never are any."""
    return CaseBase(n_features, n_planes, MOST_RECENT * room, RECENT_WIDTH, RECENT_NOISE)


def follow_antecedents(brief: RuleBase, rules: RuleBase) -> None:
    """Give the brief memory the Gaussians that the rules have by now."""
    n = rules.n_rules
    for name in SHARED_FIELDS:
        getattr(brief.arrays, name)[:n] = getattr(rules.arrays, name)[:n]


def mixed_planes(rules: RuleBase, brief: RuleBase | None) -> Floats:
    """Return the planes (R, L, d) with which rules answer."""
    if brief is None:
        return rules.W
    shares = np.array([brief_share(trial) for trial in rules.trial])
    return rules.W + shares[:, None, None] * (brief.W - rules.W)


def tell_of_drift(rules: RuleBase, at: int, events: Events) -> int:
    """Add an event for every rule that has begun to drift; return how many there are."""
    found = np.flatnonzero(rules.drifting == NEWS)
    events.extend((at, "drift", int(uid)) for uid in rules.uid[found])
    rules.arrays.drifting[found] = DRIFTING
    return len(found)
