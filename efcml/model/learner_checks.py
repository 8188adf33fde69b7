"""What a saved learner must look like: sizes first, then values.

Compiled code does not check indices, so nothing of a file is believed.
"""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING

import numpy as np

from efcml.kernels import cases, watch
from efcml.model.params import Params
from efcml.model.projection import MANY_DENSE, directions
from efcml.support.states import WHOLE, check_all, check_numbers, is_of_kind, take

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Facts

SIZE = range(1, 2**20)  # labels; matrices of more would not fit into memory
FEATURES = range(1, 2**31)
# Where features or labels may be missing, and where a prior may hold to nothing that is shared.
GAPS = ("held", "latest", "watch/labels", "watch/rows", "rules/prior", "raw/data")
LATEST = 500  # rows that are remembered for readers


def params_of(facts: Facts) -> Params:
    """Return the parameters of a learner."""
    params = facts["params"]
    return Params(**params | {"stages": tuple(params["stages"])})


def check_facts(facts: Facts) -> Params:
    """Refuse facts that no learner has; return its parameters."""
    kinds = {"n_features": FEATURES, "n_labels": SIZE, "params": dict, "projected": list}
    kinds["n_latest"] = range(LATEST + 1)
    kinds |= dict.fromkeys(("layered", "warned", "fitted", "bounded"), bool)
    kinds |= dict.fromkeys(("waiting", "n_held", "n_rules"), WHOLE) | {"sizes": list, "own": dict}
    take(facts, "the learner", **kinds)
    kinds = dict.fromkeys(Params.names(), (bool, range(2**63), float, str))
    kinds |= {"stages": list, "relevance": (str, list), "projection": (str, WHOLE, NoneType)}
    take(facts["params"], "params", **kinds)
    params, sizes, n_rules = params_of(facts), facts["sizes"], facts["n_rules"]
    good = all(type(size) is int for size in sizes) and len(sizes) == 3 * facts["fitted"]
    if good and facts["fitted"]:
        memories, used, axes = sizes
        good = memories == 1 + params.follows
        good &= 1 <= axes <= used <= facts["n_features"] and 1 <= n_rules <= params.max_rules
        good &= facts["n_held"] == 0
    elif good:
        good = n_rules == 0 and facts["n_held"] < params.warmup_rows
    projected = facts["projected"]
    many = directions(params.projection, facts["n_features"], facts["n_labels"]) > 0
    dense = facts["fitted"] and not projected and facts["n_features"] <= MANY_DENSE
    many &= not (dense and params.projection == "auto")
    if len(projected) != 4 * many or not all(is_of_kind(size, WHOLE) for size in projected):
        raise ValueError(f"no rows are projected by {projected}")
    if any(not name.startswith("stage") for name in facts["own"]):
        raise ValueError("a stage of one's own has arrays of others")
    if not good:
        raise ValueError(f"a learner cannot have {n_rules} rules and the sizes {sizes}")
    return params


def check_raw(facts: Facts, arrays: Arrays) -> None:
    """Refuse sparse rows and a projection that point beyond their arrays."""
    if not facts["projected"]:
        return
    ends, p = arrays["raw/ends"], facts["n_features"]
    good = ends[0] == 0 and ends[-1] == facts["projected"][3] and (np.diff(ends) >= 0).all()
    check_all(good and (arrays["raw/indices"] < p).all(), "sparse rows end where they cannot")
    columns = arrays.get("projection/columns", np.zeros(0))
    check_all((np.diff(columns) > 0) & (columns[1:] < p), "directions have columns that are not")


def check_arrays(facts: Facts, arrays: Arrays) -> None:
    """Refuse values that could lead compiled code out of its arrays, and NaN where none can be."""
    check_numbers(arrays, gaps=(*GAPS, "raw/labels", *facts["own"]))
    check_all(~np.isinf(arrays["held"]), "held rows hold infinity")
    check_raw(facts, arrays)
    if not facts["fitted"]:
        return
    uids = arrays["rules/uid"]
    if len(np.unique(uids)) < len(uids) or uids.max() >= arrays["rules/numbers"][0]:
        raise ValueError("two rules have one uid, or one is newer than the next")
    used, axes = arrays["relevance/used"], arrays["relevance/axes"]
    if [used.sum(), axes.sum()] != facts["sizes"][1:] or (axes & ~used).any():
        raise ValueError("the features that count are others than rules have")
    for part in ("cases", "recent"):
        if f"{part}/count" in arrays:
            size, most = arrays[f"{part}/count"][cases.SIZE], len(arrays[f"{part}/rows"])
            check_all(size <= most, "there are more cases than there is room for")
    if "watch/count" in arrays:
        doubt, held = arrays["watch/count"][[watch.DOUBT, watch.HELD]].tolist()
        if doubt > 1 or held >= (len(arrays["watch/rows"]) if doubt else 1):
            raise ValueError(f"the learner cannot hold {held} rows to decide about its scale")
