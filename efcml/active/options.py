"""Words of an active learner, checked and turned into the numbers that the kernels read."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.active.criteria import ADAPTED, CRITERIA
from efcml.kernels import querying
from efcml.kernels.querying import Ask
from efcml.support.checks import check_choice, check_number, check_whole

if TYPE_CHECKING:
    from efcml.support.aliases import Floats

BITS = {word: getattr(querying, one.switch.upper()) for word, one in CRITERIA.items()}
INSTABILITY = {"trace": querying.TRACE, "determinant": querying.DETERMINANT}
ADAPTATION = {
    "quantile": querying.QUANTILE,
    "multiplicative": querying.MULTIPLICATIVE,
    "none": 0,
}


def read_criteria(criteria: str | Iterable[str]) -> tuple[str, ...]:
    """Return the criteria as a tuple of known words."""
    words = (criteria,) if isinstance(criteria, str) else tuple(criteria)
    if not words:
        raise ValueError(f"criteria is empty: name some of {', '.join(map(repr, CRITERIA))}.")
    for word in words:
        check_choice("every one of the criteria", word, CRITERIA)
    return words


def make_ask(
    budget: float,
    unit: str,
    criteria: tuple[str, ...],
    instability: str,
    adaptation: str,
    step: float,
    window: int,
) -> Ask:
    """Check all options and return them as numbers."""
    check_number("budget", budget, above=0.0, most=1.0)
    check_choice("unit", unit, ("samples", "labels"))
    check_choice("instability", instability, INSTABILITY)
    check_choice("adaptation", adaptation, ADAPTATION)
    check_number("step", step, above=0.0, below=1.0)
    check_whole("window", window, least=1)
    switches: dict[str, Any] = {one.switch: word in criteria for word, one in CRITERIA.items()}
    switches["instability"] = INSTABILITY[instability] if switches["instability"] else 0
    return Ask(
        budget=float(budget),
        by_label=unit == "labels",
        window=float(window),
        step=float(step),
        adaptation=ADAPTATION[adaptation],
        **switches,
    )


def start_state() -> Floats:
    """Return the state before the first row."""
    state = np.zeros(querying.STATE_SIZE)
    for word in ADAPTED:
        state[threshold_place(word)] = CRITERIA[word].threshold
    return state


def threshold_place(word: str, before: str = "") -> int:
    """Return where in the state the threshold of a criterion is."""
    return getattr(querying, f"{before}{CRITERIA[word].switch.upper()}_THRESHOLD")


def read_thresholds(state: Floats, before: str = "") -> dict[str, float]:
    """Return the thresholds for the next row; before ``"USED_"``, those of the last row."""
    return {word: float(state[threshold_place(word, before)]) for word in ADAPTED}


def reasons_of(bits: int) -> tuple[str, ...]:
    """Return the words of the criteria that fired.

    Examples
    --------
    >>> reasons_of(6)
    ('ambiguity', 'instability')
    """
    return tuple(word for word, bit in BITS.items() if bits & bit)


def read_seed(random_state: int | None) -> int:
    """Return a seed; None takes one from the system."""
    if random_state is None:
        entropy: Any = np.random.SeedSequence().entropy
        return int(entropy) % 2**63
    if not isinstance(random_state, Integral) or isinstance(random_state, bool) or random_state < 0:
        raise ValueError(f"random_state must be None or a whole number >= 0; got {random_state!r}.")
    return int(random_state) % 2**64
