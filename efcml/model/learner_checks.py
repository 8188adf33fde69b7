"""What a saved learner must look like: sizes first, then values.

Compiled code does not check indices, so nothing of a file is believed.
"""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING

import numpy as np

from efcml.kernels import cases, watch
from efcml.model.cases import RECENT
from efcml.model.params import Params
from efcml.model.projection import Projection, directions, raw_shapes
from efcml.model.relevance import RelevanceWatch
from efcml.model.rescaling import ScaleWatch
from efcml.model.reshape import sizes_of
from efcml.model.rulebase import RuleBase
from efcml.model.scaler import Scaler
from efcml.model.tables import CASES, LABELS, RELEVANCE, TEMPORAL, WATCH
from efcml.support.states import WHOLE, check_all, check_numbers, is_of_kind, nest, take

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Facts, Shapes

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
    params, fitted, sizes = params_of(facts), facts["fitted"], facts["sizes"]
    many = directions(params.projection, facts["n_features"], facts["n_labels"]) > 0
    if len(facts["projected"]) != 4 * many or not all(
        is_of_kind(size, WHOLE) for size in facts["projected"]
    ):
        raise ValueError(f"no rows are projected by {facts['projected']}")
    if len(sizes) != 4 * fitted:
        raise ValueError(f"rules cannot have {sizes} memories, groups of labels, features and axes")
    counts = {name: facts[name] for name in ("n_held", "n_rules")}
    counts |= dict(zip(("memories", "groups", "used", "axes"), sizes, strict=False))
    kinds = {"n_held": range(params.warmup_rows), "n_rules": range(1)}
    if fitted:
        kinds = {"n_held": range(1), "n_rules": range(1, params.max_rules + 1)}
        memories = 1 + params.follows
        kinds["memories"] = range(memories, memories + 1)
        kinds["groups"] = range(1, facts["n_labels"] + 1)
        kinds["used"] = range(1, facts["n_features"] + 1)  # or directions, which are fewer
        kinds["axes"] = range(1, sizes[2] + 1 if type(sizes[2]) is int else 1)
    take(counts, "the learner", **kinds)
    return params


def shapes_of_state(facts: Facts) -> Shapes:
    """Return type and shape of every array of a learner with these facts, or refuse them."""
    params, p, K = check_facts(facts), facts["n_features"], facts["n_labels"]
    m, width, rows, entries = facts["projected"] or (0, p, 0, 0)
    inside = width if facts["fitted"] else p
    shapes: Shapes = {
        "held": ("<f8", (0 if facts["projected"] else facts["n_held"], p + K)),
        "evidence": ("<f8", (2,)),
        "latest": ("<f8", (facts["n_latest"], inside + K + 1)),
    }
    if facts["projected"]:
        shapes |= nest(raw=raw_shapes(rows, entries, K))
    if not facts["fitted"]:
        return shapes
    if facts["projected"]:
        shapes |= nest(projection=Projection.state_shapes(m, width))
    p = inside
    memories, groups, used, axes = facts["sizes"]
    sizes = sizes_of(used, axes, K, facts["n_rules"], memories, groups) | {"m": params.cases}
    parts = {"scaler": Scaler.state_shapes(p), "cases": CASES.shapes(sizes)}
    parts["rules"] = RuleBase.state_shapes(sizes)
    parts["recent"] = CASES.shapes(sizes | {"m": RECENT})
    parts |= {"temporal": TEMPORAL.shapes(sizes), "labels": LABELS.shapes(sizes)}
    parts["watch"] = WATCH.shapes(ScaleWatch.sizes_of(p, K))
    parts["relevance"] = RELEVANCE.shapes(RelevanceWatch.sizes_of(p))
    there = dict.fromkeys(("scaler", "rules", "relevance"), True)
    there |= {"cases": params.cases > 0, "temporal": params.time}
    there |= {"recent": params.cases > 0 and params.follows, "labels": facts["layered"]}
    there |= {"watch": params.scaling == "follow"}
    own = {name: (kind, tuple(shape)) for name, (kind, shape) in facts["own"].items()}
    if any(not name.startswith("stage") for name in own):
        raise ValueError("a stage of one's own has arrays of others")
    return shapes | nest(**{name: parts[name] for name in parts if there[name]}) | own


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
    uids, groups = arrays["rules/uid"], facts["sizes"][1]
    if len(np.unique(uids)) < len(uids) or uids.max() >= arrays["rules/numbers"][0]:
        raise ValueError("two rules have one uid, or one is newer than the next")
    if not np.array_equal(np.unique(arrays["rules/group"]), np.arange(groups)):
        raise ValueError("labels are in groups that there are not")
    used, axes = arrays["relevance/used"], arrays["relevance/axes"]
    if [used.sum(), axes.sum()] != facts["sizes"][2:] or (axes & ~used).any():
        raise ValueError("the features that count are others than rules have")
    for part in ("cases", "recent"):
        if f"{part}/count" in arrays:
            size, most = arrays[f"{part}/count"][cases.SIZE], len(arrays[f"{part}/rows"])
            check_all(size <= most, "there are more cases than there is room for")
    if "watch/count" in arrays:
        doubt, held = arrays["watch/count"][[watch.DOUBT, watch.HELD]].tolist()
        if doubt > 1 or held >= (len(arrays["watch/rows"]) if doubt else 1):
            raise ValueError(f"the learner cannot hold {held} rows to decide about its scale")
