"""What a saved rule learner must look like: sizes first, then values."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.kernels import cases, scale_watch, sequel
from efcml.model.beginning import EVIDENCE
from efcml.model.casebase import CaseBase
from efcml.model.evolving import COUNTED
from efcml.model.fields import FIELDS
from efcml.model.following_scale import MOST_HELD, FollowingScale
from efcml.model.label_layer import LabelLayer
from efcml.model.memories import MOST_RECENT
from efcml.model.params import Params
from efcml.model.rulebase import RuleBase
from efcml.model.sequelbase import SequelBase
from efcml.rivals.per_label import ChainLearner
from efcml.saving.file_checks import (
    INT64,
    SIZE,
    WHOLE,
    check_all,
    check_definite,
    check_finite,
    check_positive,
    check_symmetric,
    check_whole,
    take,
)
from efcml.support.states import from_plain, nest, pick

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Facts, Shapes

ROUNDING = 1e-9  # relative; what is known of the cases for certain has no variance but this
PLANES = (
    *("cases/weights", "recent/weights", "recent_trial"),
    *(f"sequel/{name}" for name in ("moments", "targets", "tally", "losses", "decay")),
    *(f"sequel/{name}" for name in ("errors", "errors_before", "links")),
    *(
        f"{part}/{field.name}"
        for part in ("rules", "brief")
        for field in FIELDS
        if "L" in field.dims
    ),
)
TRIAL_SIZE = 4


def learner_shapes(facts: Facts) -> Shapes:
    """Return type and shape of every array of a `Learner` with these facts, or refuse them."""
    params = check_facts(facts)
    shapes: Shapes = {"held": ("<f8", (facts["n_held"], facts["n_features"] + facts["n_labels"]))}
    return shapes if facts["rules"] is None else shapes | shapes_with_rules(facts, params)


def check_facts(facts: Facts) -> Params:
    """Refuse facts that no learner has; return its parameters."""
    take(
        facts,
        "the learner",
        n_features=SIZE,
        n_labels=SIZE,
        rows_seen=WHOLE,
        warned=bool,
        split_share=(float, NoneType),
        shared=(float, NoneType),
        renewal=(WHOLE, NoneType),
        params=dict,
        counts=dict,
        n_held=WHOLE,
        n_cases=WHOLE,
        n_recent=WHOLE,
        evidence=list,
        layered=bool,
        rules=(dict, NoneType),
    )
    take(facts["counts"], "the counts", **dict.fromkeys(COUNTED, WHOLE))
    params, ruled = read_params(facts["params"]), facts["rules"] is not None
    if facts["n_held"] >= (1 if ruled else params.warmup_rows):
        raise ValueError(f"the learner cannot hold {facts['n_held']} rows of a warm-up")
    if ruled and not 0.0 < (facts["split_share"] or 0.0) <= 1.0:
        raise ValueError("split_share must be a share of the rows, above 0 and at most 1")
    shared = facts["shared"]
    if (shared is None) != (facts["renewal"] is None) or (shared is not None and not shared > 0):
        raise ValueError("planes are shared with a strength above 0 and renewed at some row")
    check_evidence(facts["evidence"])
    if facts["n_cases"] > (params.cases if ruled else 0):
        raise ValueError(f"the learner cannot have {facts['n_cases']} cases")
    if facts["n_recent"] > (MOST_RECENT if ruled and params.follows and params.cases else 0):
        raise ValueError(f"the learner cannot have {facts['n_recent']} recent cases")
    return params


def shapes_with_rules(facts: Facts, params: Params) -> Shapes:
    """Return type and shape of what a learner has once there are rules."""
    p, K, rules = facts["n_features"], facts["n_labels"], facts["rules"]
    take(
        rules,
        "the rule base",
        n_features=range(p, p + 1),
        n_labels=range(K, K + 1),
        n_groups=(range(1, 2), range(K, K + 1)),
        n_pairs=range(1, 2),
        n_rules=range(1, params.max_rules + 1),
        next_uid=WHOLE,
    )
    widths = {"mean": p, "scale": p, "start_variance": p + K, "prior_precision": p + 1}
    widths["recent_trial"] = TRIAL_SIZE
    shapes: Shapes = {name: ("<f8", (width,)) for name, width in widths.items()}
    fields = RuleBase.state_shapes(rules)
    shapes |= nest(
        rules=fields,
        cases=CaseBase.state_shapes(p, K, facts["n_cases"]),
        recent=CaseBase.state_shapes(p, K, facts["n_recent"]),
    )
    if params.caution or params.time:
        shapes |= nest(sequel=SequelBase.state_shapes(K, times=params.time))
    if params.follows:
        shapes |= nest(brief=fields)
    if facts["layered"]:
        shapes |= nest(labels=LabelLayer.state_shapes(K))
    if params.scaling == "follow":
        shapes |= nest(follow=FollowingScale.state_shapes(p, K))
    return shapes


def check_evidence(evidence: list[Any]) -> None:
    """Refuse what the rows of a warm-up cannot have shown; the first number may be below 0."""
    numbers = len(evidence) == EVIDENCE and all(type(number) is float for number in evidence)
    if not numbers or not np.isfinite(evidence).all() or min(evidence[1:]) < 0.0:
        raise ValueError(f"the evidence of a warm-up must be {EVIDENCE} numbers, not below 0")


def read_params(facts: Facts) -> Params:
    """Return checked parameters of a learner."""
    take(facts, "params", **dict.fromkeys(Params.names(), (bool, INT64, float, str)))
    return Params(**{name: from_plain(value) for name, value in facts.items()})


def check_learner(facts: Facts, arrays: Arrays) -> None:
    """Refuse values that no `Learner` can have; rows that are held may lack features."""
    p = facts["n_features"]
    features, labels = arrays["held"][:, :p], arrays["held"][:, p:]
    check_all(~np.isinf(features), "held rows hold infinity")
    check_all(np.isnan(labels) | np.isin(labels, (0.0, 1.0)), "held labels are not 0, 1 or NaN")
    check_all(~np.isnan(labels).all(axis=1), "a row is held that has no label")
    if facts["rules"] is None:
        return
    check_whole(arrays)
    # Without a limit, planes under a printed formula run away, and a real model can hold NaN.
    limited = from_plain(facts["params"]["weight_limit"]) < np.inf
    gaps_allowed = ("held", "follow/labels", "follow/rows")
    check_finite(arrays, but=gaps_allowed if limited else (*gaps_allowed, *PLANES))
    check_positive(arrays, "scale", "start_variance", "prior_precision", "rules/support")
    check_definite(arrays, "rules/joint_precision", "rules/input_precision")
    check_symmetric(arrays, "rules/P", "rules/G")
    if from_plain(facts["params"]["forgetting"]) == "auto":
        check_symmetric(arrays, "brief/P", "brief/G")
        if not np.array_equal(arrays["brief/uid"], arrays["rules/uid"]):
            raise ValueError("the two memories are not those of the same rules")
    check_cases("cases", facts["n_cases"], arrays)
    check_cases("recent", facts["n_recent"], arrays)
    if facts["params"]["caution"] or facts["params"]["time"]:
        check_sequel(pick(arrays, "sequel"))
    if from_plain(facts["params"]["scaling"]) == "follow":
        check_following(pick(arrays, "follow"))
    if facts["layered"]:
        check_labels(pick(arrays, "labels"))
    uids = arrays["rules/uid"]
    if len(np.unique(uids)) < len(uids) or uids.max() >= facts["rules"]["next_uid"]:
        raise ValueError("two rules have one uid, or one is newer than the next")


def check_cases(which: str, size: int, arrays: Arrays) -> None:
    """Refuse cases whose number, similarities or covariances cannot be."""
    if size:
        names = [f"{which}/{name}" for name in CaseBase.matrices()]
        matrices = {name: arrays[name][None] for name in names}
        covariance = f"{which}/covariance"
        largest = max(1.0, np.diagonal(arrays[covariance]).max())
        matrices[covariance] = matrices[covariance] + ROUNDING * largest * np.eye(size)
        check_definite(matrices, *names)
    if arrays[f"{which}/count"][cases.SIZE] != size:
        raise ValueError("the number of cases is not the number of rows remembered")


def check_sequel(arrays: Arrays) -> None:
    """Refuse what no model can know of its own errors and of the last rows."""
    check_positive(arrays, "link_start")
    if arrays["links"].size:
        matrix = {"link_covariance": arrays["link_covariance"][None]}
        check_symmetric(matrix, "link_covariance")
        check_all(np.diagonal(arrays["link_covariance"]) > 0.0, "a link has no variance")
    not_below_0 = ("tally", "losses", "ones", "seen", "waiting")
    for name in not_below_0:
        check_all(~(arrays[name] < 0), f"{name} is below 0")
    check_all(arrays["ones"] <= arrays["seen"], "a label was there more often than it was known")
    ago = arrays["ago"]
    check_all((ago >= 1) & (ago <= sequel.NEVER), "a label was known at no time that can be")


def check_labels(arrays: Arrays) -> None:
    """Refuse what no errors can have taught of the labels."""
    for name in ("covariance", "precision", "form"):
        check_definite({name: arrays[f"together/{name}"][None]}, name)
    check_positive(arrays, "together/variance")
    rows, renewal = arrays["together/count"].tolist()
    true, said, hits = (arrays[f"thresholds/{name}"] for name in ("true", "said", "hits"))
    counted = (0.0 <= hits) & (hits <= said) & (hits <= true[:, None])
    check_all(counted, "more labels were said rightly than were said, or are true")
    if not 0 <= rows < renewal or (arrays["together/rows"] < 0.0).any():
        raise ValueError("the errors of labels were counted in a number of rows that cannot be")


def check_following(arrays: Arrays) -> None:
    """Refuse what no scale that follows its stream can remember."""
    labels = arrays["labels"]
    check_all(~np.isinf(arrays["rows"]), "held rows hold infinity")
    check_all(np.isnan(labels) | np.isin(labels, (0.0, 1.0)), "held labels are not 0, 1 or NaN")
    doubt, held = arrays["count"][[scale_watch.DOUBT, scale_watch.HELD]].tolist()
    if doubt not in (0, 1) or not 0 <= held < (MOST_HELD if doubt else 1):
        raise ValueError(f"the learner cannot hold {held} rows to decide about its scale")
    unlabelled, unused = np.isnan(labels[:held]).all(axis=1), labels[held:] == 0.0
    check_all(~unlabelled, "a row is held that has no label")
    check_all(unused, "labels are held without their rows")
    check_all(arrays["rows"][held:] == 0.0, "rows are there that are not held")
    check_all(arrays["weights"][:held] > 0.0, "a row is held that has no weight")
    check_all(arrays["weights"][held:] == 0.0, "weights are held without their rows")


def per_label_shapes(facts: Facts, kind: type) -> Shapes:
    """Return type and shape of every array of a learner with one model per label."""
    take(facts, "the learner", n_features=SIZE, params=dict, order=list, models=list)
    n, order = len(facts["models"]), facts["order"]
    whole = all(type(label) is int for label in order)
    if n == 0 or not whole or sorted(order) != list(range(n)):
        raise ValueError(f"the order of {n} labels must name each once")
    shapes: Shapes = {}
    for i, part in enumerate(parts_of(facts)):
        shapes |= nest(**{str(i): learner_shapes(part)})
        width = facts["n_features"] + (i if kind is ChainLearner else 0)
        if (part["n_features"], part["n_labels"]) != (width, 1):
            raise ValueError(f"model {i} must have {width} features and one label")
    return shapes


def check_per_label(facts: Facts, arrays: Arrays) -> None:
    """Refuse values that no learner with one model per label can have."""
    for i, part in enumerate(parts_of(facts)):
        check_learner(part, pick(arrays, str(i)))


def parts_of(facts: Facts) -> list[Facts]:
    """Return the facts of every label's learner, with the parameters that all share."""
    if not all(isinstance(part, dict) for part in facts["models"]):
        raise ValueError("a model says nothing")
    return [part | {"params": facts["params"]} for part in facts["models"]]
