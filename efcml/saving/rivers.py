"""RiverEFCML as facts and arrays; river is imported only if such a model is there."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any

from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.saving.file_checks import WHOLE, take
from efcml.saving.learners import check_learner, learner_shapes, read_params
from efcml.support.states import nest, pick, to_plain

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Facts, Shapes, State


def pack(model: Any) -> State:
    """Return facts and arrays of a model of river, also of one that has learned nothing."""
    params = {name: to_plain(getattr(model, name)) for name in Params.names()}
    facts = {"class": "RiverEFCML", "params": params, "learned": None}
    if not model.label_names:
        return facts, {}
    learner, arrays = model.learner.state()
    facts["learned"] = {
        "features": [*model.feature_names],
        "labels": [*model.label_names],
        "unknown": [[name, count] for name, count in model.unknown_features_.items()],
        "learner": learner,
    }
    return facts, nest(learner=arrays)


def shapes(facts: Facts) -> Shapes:
    """Return type and shape of every array of a model with these facts, or refuse them."""
    take(facts, "the model", **{"class": str, "params": dict, "learned": (dict, NoneType)})
    read_params(facts["params"])
    learned = facts["learned"]
    if learned is None:
        return {}
    take(learned, "the model", features=list, labels=list, unknown=list, learner=dict)
    learner = learned["learner"]
    expected = learner_shapes(learner)
    if learner["params"] != facts["params"]:
        raise ValueError("model and learner have different parameters")
    check_names(learned["features"], "features", learner["n_features"])
    check_names(learned["labels"], "labels", learner["n_labels"])
    for pair in learned["unknown"]:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError("the unknown features must be names with counts")
        take({"count": pair[1]}, "an unknown feature", count=WHOLE)
    check_names([name for name, _ in learned["unknown"]], "unknown features")
    return nest(learner=expected)


def check_names(names: Sequence[Any], what: str, count: int | None = None) -> None:
    """Refuse names that are not words or whole numbers, each once."""
    if not all(type(name) in (str, int) for name in names):
        raise ValueError(f"the names of {what} must be words or whole numbers")
    if len(set(names)) < len(names) or len(names) != (len(names) if count is None else count):
        raise ValueError(f"{what} must have one name each")


def check(facts: Facts, arrays: Arrays) -> None:
    """Refuse values that no model can have; held rows may lack features."""
    if facts["learned"] is not None:
        check_learner(facts["learned"]["learner"], pick(arrays, "learner"))


def unpack(facts: Facts, arrays: Arrays) -> Any:
    """Build a model of river from checked facts and arrays."""
    from efcml.compat.river import RiverEFCML

    params = read_params(facts["params"])
    model = RiverEFCML(**{name: getattr(params, name) for name in Params.names()})
    learned = facts["learned"]
    if learned is not None:
        learner = Learner.from_state(learned["learner"], pick(arrays, "learner"))
        model.take_state(learner, learned["features"], learned["labels"], learned["unknown"])
    return model
