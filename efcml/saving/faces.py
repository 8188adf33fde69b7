"""What models have beside their learners, as JSON can hold it: parameters, names, columns, classes.

scikit-learn and river are loaded only when a model of theirs is built.
"""

from __future__ import annotations

import re
from numbers import Integral
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

import efcml
from efcml.model.params import Parameters
from efcml.seams import name_of
from efcml.support.declared import facts_of
from efcml.support.states import from_plain, to_plain

if TYPE_CHECKING:
    from efcml.support.aliases import Array, Facts
    from efcml.tables import TableEncoder

NAMES = ("label_names_", "feature_names_in_")
CLASS_TYPES = re.compile(r"[<>|][biuf][1248]|[<>]U\d{1,3}|\|O")


def pack(model: Any, table: TableEncoder | None) -> tuple[Facts, Any]:
    """Return the facts of a model, and its learner if it has learned anything."""
    kind = type(model).__name__
    if kind == "ActiveLearner":
        return {}, model
    if kind == "RiverEFCML":
        facts: Facts = {"features": [*model.feature_names], "labels": [*model.label_names]}
        facts["unknown"] = [[name, count] for name, count in model.unknown_features_.items()]
        facts["params"] = plain_parameters(model._get_params())
        return facts, model.learner if facts["labels"] else None
    facts = {"params": plain_parameters(model.get_params())}
    if not hasattr(model, "learner_"):
        return facts, None
    encoding, table = getattr(model, "_encoding", None), table_of(model, table)
    pair = model.classes_ if model._binary else None
    facts |= {
        "classes": None if pair is None else {"dtype": pair.dtype.str, "values": pair.tolist()},
        "flags": np.flatnonzero(model._flags).tolist(),
        "groups": [[name, list(columns)] for name, columns in model._groups.items()],
        "categories": None if encoding is None else encoding.facts(),
        "table": None if table is None else table.facts(),
        "named_later": hasattr(model, "_named_later"),
    }
    facts |= {name: [str(one) for one in getattr(model, name, ())] or None for name in NAMES}
    return facts, model.learner_


def unpack(kind: str, facts: Facts, learner: Any) -> Any:
    """Return the model of a class with these facts and this learner."""
    if kind == "ActiveLearner":
        return learner
    params = {name: from_plain(value) for name, value in facts["params"].items()}
    params |= {"stages": tuple(params["stages"])} if "stages" in params else {}
    if kind == "RiverEFCML":
        return unpack_river(params, facts, learner)
    model = getattr(efcml, kind)(**params)
    if params.keys() != model.get_params().keys():
        raise ValueError(f"the parameters are not those of {kind}")
    vars(model).update(attributes(facts, learner))
    return model


def unpack_river(params: Facts, facts: Facts, learner: Any) -> Any:
    """Return a model of river."""
    from efcml.compat.river import RiverEFCML

    model = RiverEFCML(**params)
    if learner is not None:
        check_names(facts["features"], "features", learner.n_features)
        check_names(facts["labels"], "labels", learner.n_labels)
        check_names([name for name, _ in facts["unknown"]], "unknown", len(facts["unknown"]))
        model.take_state(learner, facts["features"], facts["labels"], facts["unknown"])
        if len(model.feature_names + model.label_names) < learner.n_features + learner.n_labels:
            raise ValueError("two features or two labels have one name")
    return model


def attributes(facts: Facts, learner: Any) -> dict[str, Any]:
    """Return what an estimator has learned, by the names of its attributes, without sklearn."""
    if learner is None:
        return {}
    p, K, classes = learner.n_features, learner.n_labels, facts["classes"]
    groups = {name: tuple(columns) for name, columns in facts["groups"]}
    found: dict[str, Any] = {"_binary": classes is not None, "_pair": None, "n_features_in_": p}
    if classes is not None:
        found["_pair"] = read_classes(classes["dtype"], classes["values"])
        if K != 1:
            raise ValueError(f"two classes are one label, not {K}")
    if facts["categories"] is not None:
        found["_encoding"] = read_encoder(facts["categories"], p)
        found["n_features_in_"] = len(found["_encoding"].columns)
    if facts["table"] is not None:
        found["table_"] = read_encoder(facts["table"], found["n_features_in_"])
    found |= {"_named_later": True} if facts["named_later"] else {}
    for name, count in zip(NAMES, (K, found["n_features_in_"]), strict=True):
        if facts[name] is not None:
            check_names(facts[name], name, count)
            found[name] = np.array(facts[name], dtype=object)
    for places in (facts["flags"], [place for columns in groups.values() for place in columns]):
        good = all(type(place) is int and 0 <= place < p for place in places)
        if not good or len(set(places)) < len(places):
            raise ValueError(f"places of columns must be among {p}, each once")
    flags = np.isin(np.arange(p), facts["flags"])
    return found | {"_flags": flags, "_groups": groups, "learner_": learner}


def check_names(names: list[Any], what: str, count: int) -> None:
    """Refuse names that are not so many words or whole numbers."""
    if len(names) != count or not all(type(name) in (str, int) for name in names):
        raise ValueError(f"the names of {what} must be {count} words or whole numbers")


def read_encoder(facts: Facts, n_features: int) -> TableEncoder:
    """Return an encoder of so many features, or refuse what cannot have been learned."""
    from efcml.tables.encoder import TableEncoder  # loads pandas

    encoder = TableEncoder.from_facts(facts)
    if len(encoder.feature_names) != n_features:
        raise ValueError(f"a table of other columns than those of {n_features} features")
    return encoder


def table_of(model: Any, given: TableEncoder | None) -> TableEncoder | None:
    """Return the table of an estimator; one that is given must fit, its own may no longer do so."""
    table = getattr(model, "table_", None) if given is None else given
    if table is None:
        return None
    if not hasattr(table, "feature_names"):
        raise TypeError(f"table must be that of a data set, ds.table; got {type(table).__name__}.")
    known = tuple(map(str, getattr(model, "feature_names_in_", table.feature_names)))
    fits = known == table.feature_names and len(known) == model.n_features_in_
    if given is not None and not fits:
        raise ValueError("the table has other features than the model: give that of its data set.")
    return table if fits else None


def plain_parameters(params: Facts) -> Facts:
    """Return parameters as JSON can hold them, functions by their names, or refuse them."""
    seams = {name: facts.seam for name, facts in facts_of(Parameters).items() if facts.seam}
    plain = {name: to_plain(value) for name, value in params.items()}
    plain |= {name: name_of(seams[name], plain[name]) for name in seams.keys() & plain.keys()}
    if "stages" in plain:
        plain["stages"] = [name_of("stage", stage) for stage in plain["stages"]]
    for name, value in plain.items():
        listed = isinstance(value, list | tuple | np.ndarray) and name != "stages"
        unreal = isinstance(value, float) and not np.isfinite(value)
        if listed and all(isinstance(one, Integral) for one in value):
            plain[name] = [int(one) for one in value]  # the order of a chain
        elif name != "stages" and type(value) not in (NoneType, bool, int, float, str) or unreal:
            raise ValueError(
                f"{name}={value!r} cannot be saved: set it to a number, a word or None before."
            )
    return plain


def read_classes(dtype: str, values: list[Any]) -> Array:
    """Return the classes of a 1-D target, or refuse what cannot be some."""
    plain = CLASS_TYPES.fullmatch(dtype) and {*map(type, values)} <= {bool, int, float, str}
    if plain and len(values) in (1, 2) and len({*values}) == len(values):
        classes = np.array(values, dtype=dtype)
        if classes.tolist() == values:
            return classes
    raise ValueError(f"classes of the type {dtype} cannot be: one or two words or numbers can")
