"""What a saved learner must look like: sizes first, then values.

Compiled code does not check indices, so nothing of a file is believed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from efcml.kernels import cases, temporal, watch
from efcml.model.cases import RECENT
from efcml.model.labels import LabelLayer
from efcml.model.params import Params
from efcml.model.relevance import RelevanceWatch
from efcml.model.rescaling import ScaleWatch
from efcml.model.rulebase import RuleBase
from efcml.model.scaler import Scaler
from efcml.model.tables import CASES, LABELS, RELEVANCE, TEMPORAL, WATCH
from efcml.model.temporal import TemporalStage
from efcml.model.warm_start import EVIDENCE
from efcml.support.states import WHOLE, check_all, check_numbers, nest, take

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Facts, Shapes

SIZE = range(1, 2**20)  # features or labels; matrices of more would not fit into memory
# Where features or labels may be missing, and where a prior may hold to nothing that is shared.
GAPS = ("held", "latest", "watch/labels", "watch/rows", "rules/prior")
LATEST = 500  # rows that are remembered for readers


def params_of(facts: Facts) -> Params:
    """Return the parameters of a learner."""
    params = facts["params"]
    return Params(**params | {"stages": tuple(params["stages"])})


def check_facts(facts: Facts) -> Params:
    """Refuse facts that no learner has; return its parameters."""
    flags = dict.fromkeys(("layered", "warned", "warned_of_clipping", "fitted"), bool)
    counts = dict.fromkeys(("waiting", "n_held", "n_rules"), WHOLE)
    take(
        facts,
        "the learner",
        n_features=SIZE,
        n_labels=SIZE,
        n_latest=range(LATEST + 1),
        params=dict,
        sizes=list,
        own=dict,
        **flags,
        **counts,
    )
    kinds = dict.fromkeys(Params.names(), (bool, range(2**63), float, str))
    take(facts["params"], "params", **kinds | {"stages": list, "relevance": (str, list)})
    params = params_of(facts)
    fitted, sizes = facts["fitted"], facts["sizes"]
    most = {"n_held": 0 if fitted else params.warmup_rows - 1}
    most["n_rules"] = params.max_rules if fitted else 0
    for name, limit in most.items():
        if facts[name] > limit or (name == "n_rules" and fitted and facts[name] < 1):
            raise ValueError(f"the learner cannot have {name}={facts[name]}")
    memories, groups = (1 + params.follows, range(1, facts["n_labels"] + 1)) if fitted else (0, ())
    good = len(sizes) == 4 and {*map(type, sizes)} == {int}
    good = good and sizes[0] == memories and sizes[1] in groups
    good = good and 1 <= sizes[3] <= sizes[2] <= facts["n_features"]
    if not good and (fitted or sizes):
        raise ValueError(f"rules cannot have {sizes} memories, groups of labels, features and axes")
    return params


def shapes_of_state(facts: Facts) -> Shapes:
    """Return type and shape of every array of a learner with these facts, or refuse them."""
    params, p, K = check_facts(facts), facts["n_features"], facts["n_labels"]
    shapes: Shapes = {
        "held": ("<f8", (facts["n_held"], p + K)),
        "evidence": ("<f8", (EVIDENCE,)),
        "latest": ("<f8", (facts["n_latest"], p + K + 1)),
    }
    if not facts["fitted"]:
        return shapes
    parts = {"scaler": Scaler.state_shapes(p)}
    memories, groups, used, axes = facts["sizes"]
    parts |= {"rules": RuleBase.state_shapes(used, axes, K, facts["n_rules"], memories, groups)}
    parts |= {"relevance": RELEVANCE.shapes(RelevanceWatch.sizes_of(p))}
    if params.cases > 0:
        parts["cases"] = CASES.shapes({"m": params.cases, "p": used, "K": K})
        if params.follows:
            parts["recent"] = CASES.shapes({"m": RECENT, "p": used, "K": K})
    if params.time:
        parts["temporal"] = TEMPORAL.shapes(TemporalStage.sizes_of(K))
    if facts["layered"]:
        parts["labels"] = LABELS.shapes(LabelLayer.sizes_of(K))
    if params.scaling == "follow":
        parts["watch"] = WATCH.shapes(ScaleWatch.sizes_of(p, K))
    own = {name: (kind, tuple(shape)) for name, (kind, shape) in facts["own"].items()}
    if any(not name.startswith("stage") for name in own):
        raise ValueError("a stage of one's own has arrays of others")
    return shapes | nest(**parts) | own


def check_arrays(facts: Facts, arrays: Arrays) -> None:
    """Refuse values that could lead compiled code out of its arrays, and NaN where none can be."""
    check_numbers(arrays, gaps=(*GAPS, *facts["own"]))
    check_all(~np.isinf(arrays["held"]), "held rows hold infinity")
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
    if arrays["relevance/count"].min() < 0:
        raise ValueError("it looks at features at no time that can be")
    for part in ("cases", "recent"):
        if f"{part}/count" in arrays:
            size, most = arrays[f"{part}/count"][cases.SIZE], len(arrays[f"{part}/rows"])
            check_all(size <= most, "there are more cases than there is room for")
    if "temporal/ago" in arrays:
        for ago in (arrays["temporal/ago"], arrays["temporal/past_ago"]):
            good = (ago >= 0) & (ago <= temporal.NEVER)
            check_all(good, "a label was known at no time that can be")
    if "watch/count" in arrays:
        doubt, held = arrays["watch/count"][[watch.DOUBT, watch.HELD]].tolist()
        if doubt > 1 or held >= (len(arrays["watch/rows"]) if doubt else 1):
            raise ValueError(f"the learner cannot hold {held} rows to decide about its scale")
