"""Values in and out of the range of a parameter, from its declaration."""

import math

import numpy as np

from efcml.model.params import Params
from efcml.support.checks import check_choice, check_flag, check_number, check_whole
from efcml.support.declared import facts_of

FACTS = facts_of(Params)
NAN, INF = math.nan, math.inf
WRONG = {  # never allowed, whatever the limits are
    check_number: ["much", None, True, NAN, -INF],
    check_whole: [1.5, 10.0, "1", None, True, NAN, INF],
    check_flag: ["yes", None, 2],
    check_choice: ["Other", 1, None, True, ["shift"]],
    None: ["unknown", ("unknown",), 1],  # stages
}
RIGHT = {check_flag: [True, False, np.True_]}
CHECKED_BY_USER = {
    "stages": [(), []],
    "relevance": ["auto", "off", (0, 1)],
    "projection": ["auto", None, 1],
}


def rule_of(name):
    """Return the check of a parameter and its limits."""
    check = FACTS[name].check
    limits = getattr(check, "keywords", {}).items()
    return getattr(check, "func", check), {name: one for name, one in limits if one is not None}


def next_to(check, value, towards):
    """Return the next value of the kind."""
    return (
        value + int(math.copysign(1, towards))
        if check is check_whole
        else float(np.nextafter(value, towards))
    )


def refused(name):
    """Return values that the parameter must not have, those next to its range first."""
    check, limits = rule_of(name)
    values = [limits[limit] for limit in ("above", "below") if limit in limits]
    values += [next_to(check, limits["least"], -INF)] if "least" in limits else []
    values += [next_to(check, limits["most"], INF)] if "most" in limits else []
    values += [] if limits.get("infinite", True) else [INF]
    return [0, True, "unknown"] if name == "projection" else values + WRONG[check]


def accepted(name):
    """Return values that the parameter may have, the ends of its range among them."""
    check, limits = rule_of(name)
    values = [limits[limit] for limit in ("least", "most") if limit in limits]
    values += [next_to(check, limits["above"], INF)] if "above" in limits else []
    values += [next_to(check, limits["below"], -INF)] if "below" in limits else []
    values += [*limits.get("words", ()), *limits.get("allowed", ()), *RIGHT.get(check, [])]
    values += CHECKED_BY_USER.get(name, [])
    return values + ([INF] if limits.get("infinite") else [])
