"""What a saved active learner must look like: sizes first, then values."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING

import numpy as np

from efcml.active import ActiveLearner
from efcml.active.options import BITS
from efcml.active.state import OPTIONS, active_from_state, active_state, state_shapes
from efcml.kernels import querying
from efcml.saving.file_checks import WHOLE, check_all, check_finite, check_whole, take
from efcml.support.states import pick

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Facts, Shapes, State

COUNTS = ("n_labels", "n_features", "n_asked", "n_open", "n_expired")
NUMBER = (WHOLE, float)


def pack(active: ActiveLearner) -> State:
    """Return facts and arrays of an active learner."""
    facts, arrays = active_state(active)
    return {"class": "ActiveLearner", "active": facts}, arrays


def shapes(facts: Facts) -> Shapes:
    """Return type and shape of every array of an active learner with these facts, or refuse."""
    take(facts, "the active learner", **{"class": str, "active": dict})
    options = dict.fromkeys(OPTIONS, str) | {
        "budget": NUMBER,
        "step": NUMBER,
        "window": WHOLE,
        "open_questions": WHOLE,
        "criteria": list,
        "random_state": (int, NoneType),
    }
    counts = dict.fromkeys(COUNTS, WHOLE)
    active = take(facts["active"], "the active learner", **options, **counts, seed=range(2**64))
    ActiveLearner(**{name: active[name] for name in OPTIONS})
    if active["n_open"] > active["open_questions"]:
        raise ValueError("more questions are open than may be")
    return state_shapes(active)


def check(facts: Facts, arrays: Arrays) -> None:
    """Refuse values that no active learner can have."""
    check_whole(arrays)
    check_finite(arrays, but=("open/x",))  # features may be missing
    check_all(~np.isinf(arrays["open/x"]), "open/x holds infinity")
    asked, opened = pick(arrays, "asked"), pick(arrays, "open")
    for state in (arrays["state"], *opened["after"]):
        counts = state[[querying.ROWS, querying.ROOM, querying.SPENT]]
        check_all((state >= 0.0) & (state < WHOLE.stop), "the state holds impossible numbers")
        check_all(counts == np.floor(counts), "the state counts parts of rows")
    rows = asked["row"]
    for name, part in (("the log", rows), ("open", opened["row"]), ("expired", arrays["expired"])):
        check_all(np.diff(part) > 0, f"the rows of {name} are out of order")
        check_all(np.isin(part, rows), f"{name} has rows that were not asked")
    check_all(rows < arrays["state"][querying.ROWS], "the log has rows that did not come yet")
    if np.isin(opened["row"], arrays["expired"]).any():
        raise ValueError("a question is open and expired")
    every = np.bitwise_or.reduce([*BITS.values()]).astype(np.uint8)
    for part in (asked, opened):
        bits = part["reasons"]
        check_all((bits > 0) & (bits & ~every == 0), "the log has unknown reasons")
        check_all(part["labels"].any(axis=1), "the log has questions about nothing")


def unpack(facts: Facts, arrays: Arrays) -> ActiveLearner:
    """Build an active learner from checked facts and arrays."""
    return active_from_state(facts["active"], arrays)
