"""A learner copied, written down, and made again from what was written.

Each part of it does that for itself; here they are put together.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.model.following_scale import FollowingScale
from efcml.model.memories import follow_antecedents
from efcml.model.rulebase import RuleBase
from efcml.model.scaler import Scaler
from efcml.support.states import nest, pick, to_plain

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Facts, State

PARTS = ("cases", "recent", "sequel", "labels", "following")  # beside the rules; some may be None
RULES = ("rules", "brief")
FACTS = "n_features n_labels rows_seen warned split_share shared renewal layered".split()
ARRAYS = ("start_variance", "prior_precision", "recent_trial")


def copy_learner(learner: Any, other: Any) -> Any:
    """Return ``other``, made an independent learner in the same state."""
    vars(other).update(vars(learner))
    other.counts = dict(learner.counts)
    other.held, other._model = list(learner.held), None
    other.beginning = learner.beginning.copy()
    if learner.fitted:
        other.recent_trial = learner.recent_trial.copy()
        for name in (*RULES, *PARTS):
            part = getattr(learner, name)
            setattr(other, name, None if part is None else part.copy())
    return other


def save_learner(learner: Any) -> State:
    """Return facts and arrays; settings and scratch follow from them."""
    if learner.pairs is not None:
        raise ValueError("a learner of several pairs (alpha, beta) cannot be saved.")
    facts: Facts = {name: getattr(learner, name) for name in FACTS}
    facts["params"] = {name: to_plain(value) for name, value in asdict(learner.params).items()}
    facts |= {"counts": dict(learner.counts), "n_held": len(learner.held), "rules": None}
    facts["evidence"] = learner.beginning.evidence.tolist()
    facts["n_cases"] = learner.cases.n_cases if learner.fitted else 0
    facts["n_recent"] = learner.recent.n_cases if learner.fitted else 0
    held = np.array([np.concatenate(row) for row in learner.held])
    arrays = {"held": held.reshape(-1, learner.n_features + learner.n_labels)}
    if learner.fitted:
        facts["rules"] = learner.rules.facts
        arrays |= {"mean": learner.scaler.mean.copy(), "scale": learner.scaler.scale.copy()}
        arrays |= {name: getattr(learner, name).copy() for name in ARRAYS}
        arrays |= nest(
            rules=learner.rules.state(), cases=learner.cases.state(), recent=learner.recent.state()
        )
        if learner.sequel.is_on:
            arrays |= nest(sequel=learner.sequel.state())
        if learner.brief is not None:
            follow_antecedents(learner.brief, learner.rules)
            arrays |= nest(brief=learner.brief.state())
        if learner.labels is not None:
            arrays |= nest(labels=learner.labels.state())
        if learner.following is not None:
            arrays |= nest(follow=learner.following.state())
    return facts, arrays


def restore_learner(learner: Any, facts: Facts, arrays: Arrays) -> None:
    """Bring a new learner of the same parameters and sizes into a state that was saved."""
    learner.counts.update(facts["counts"])
    for name in ("rows_seen", "warned", "layered"):
        setattr(learner, name, facts[name])
    p = learner.n_features
    learner.held = [(row[:p].copy(), row[p:].copy()) for row in arrays["held"]]
    learner.beginning.evidence = np.array(facts["evidence"])
    if facts["rules"] is not None:
        restore_parts(learner, facts, arrays)


def restore_parts(learner: Any, facts: Facts, arrays: Arrays) -> None:
    """Make rules and all that goes with them."""
    learner.rules = RuleBase.from_state(pick(arrays, "rules"), facts["rules"])
    learner.scaler = Scaler(arrays["mean"], arrays["scale"], float(learner.params.clip))
    for name in ARRAYS:
        setattr(learner, name, arrays[name])
    for name in ("split_share", "shared", "renewal"):
        setattr(learner, name, facts[name])
    learner._steer()
    learner.cases = learner._new_cases().restore(pick(arrays, "cases"))
    follows = learner.settings.follows
    learner._forget_recent(room=follows and learner.cases.capacity > 0)
    learner.recent_trial = arrays["recent_trial"]
    if follows:
        learner.brief = RuleBase.from_state(pick(arrays, "brief"), facts["rules"])
    learner.recent.restore(pick(arrays, "recent"))
    learner.sequel = learner._new_sequel()
    if learner.sequel.is_on:
        learner.sequel.restore(pick(arrays, "sequel"))
    learner.labels = learner._new_labels()
    if learner.labels is not None:
        learner.labels.restore(pick(arrays, "labels"))
    if learner.params.scaling == "follow":
        following = FollowingScale(learner.n_features, learner.n_labels)
        learner.following = following.restore(pick(arrays, "follow"))
