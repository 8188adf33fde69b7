"""Parameters as files have them, and what a saved learner must look like.

Compiled code does not check indices, so nothing of a file is believed.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

import numpy as np

from efcml.kernels import cases
from efcml.model.params import Parameters, Params
from efcml.model.watch import BEGUN, DOUBT, REASONS, ROWS, WHY
from efcml.seams import name_of
from efcml.support.aliases import Arrays, Facts
from efcml.support.declared import facts_of
from efcml.support.states import check_all, take

T = TypeVar("T")
# What is saved of a learner beside its arrays; matrices of more labels would not fit into memory.
FACTS: dict[str, Any] = {"n_features": range(1, 2**31), "n_labels": range(1, 2**20)}
FACTS |= {"layered": bool, "early": bool, "warned": bool, "bounded": bool, "unit": float}
FACTS |= {"window": range(1, 2**53)}
# Where features or labels may be missing, where a prior may hold to nothing that is shared, and
# stages of one's own.
GAPS = ("rows/", "rules/prior", "stage")


def plain_parameters(params: Facts) -> Facts:
    """Return parameters as JSON can hold them, functions by their names, or refuse them."""
    seams, plain = {name: facts.seam for name, facts in facts_of(Parameters).items()}, {}
    for name, value in params.items():
        if seams.get(name):
            value = name_of(seams[name], value)
        elif name == "stages":
            value = [name_of("stage", stage) for stage in value]
        try:
            text = json.dumps(value, allow_nan=False, default=lambda some: some.tolist())
        except (AttributeError, TypeError, ValueError):
            raise ValueError(
                f"{name}={value!r} cannot be saved: set it to a number, a word or None before."
            ) from None
        plain[name] = json.loads(text)
    return plain


def with_plain(kind: type[T], params: Any) -> T:
    """Return what is made of plain parameters."""
    return kind(**params | {"stages": tuple(params["stages"])})


def check_facts(facts: Facts) -> Params:
    """Refuse facts that no learner has; return its parameters."""
    take(facts, "the learner", params=dict, **FACTS)
    check_all(facts["params"].keys() == {*Params.names()}, "it has other parameters than a learner")
    check_all(0.0 < facts["unit"] < np.inf, "the unit of its weights is not above 0")
    return with_plain(Params, facts["params"])


def check_arrays(learner: Any, arrays: Arrays) -> None:
    """Refuse values that could lead compiled code out of its arrays."""
    if not learner.fitted:
        check_all(len(learner.held) < learner.params.warmup_rows, "more rows are held than can be")
        return
    check_all(1 <= learner.n_rules <= learner.params.max_rules, "there are too many rules, or none")
    uids, a = arrays["rules/uid"], learner.relevance.arrays
    good = len(np.unique(uids)) == len(uids) and uids.max() < arrays["rules/numbers"][0]
    check_all(good, "two rules have one uid, or one is newer than the next")
    check_all(
        a.axes.any() and not (a.axes & ~a.used).any(), "rules have features that do not count"
    )
    for part in ("cases", "recent"):
        if f"{part}/count" in arrays:
            size, most = arrays[f"{part}/count"][cases.SIZE], len(arrays[f"{part}/rows"])
            check_all(size <= most, "there are more cases than there is room for")


def check_watch(learner: Any) -> None:
    """Refuse counts that say of another learner beside it what is not so."""
    watch = learner.watch
    good = watch[DOUBT] <= (learner.other is not None) and watch[BEGUN] <= watch[ROWS]
    good = good and watch[WHY] < len(REASONS) and bool(learner.last) == learner.fitted
    check_all(good, "the counts of its last rows are not those of a learner")


def check_beside(learner: Any, facts: Any) -> None:
    """Refuse facts of another learner that cannot stand beside this one."""
    own = {name: facts.get(name) for name in FACTS} if isinstance(facts, dict) else {}
    alike = ("n_features", "n_labels", "layered")
    good = own and facts.get("other") is None and learner.fitted and not learner.early
    same = good and all(own[name] == getattr(learner, name) for name in alike)
    same = same and facts.get("params") == plain_parameters(vars(learner.params))
    check_all(bool(same), "the learner beside it is of another kind")
