"""Estimators as facts and arrays: parameters, names and classes, and the learner behind them.

scikit-learn is loaded only when an estimator is built; a learner is read without it.
"""

from __future__ import annotations

import re
from numbers import Integral
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

import efcml
from efcml.model.learner import Learner
from efcml.model.params import Params
from efcml.rivals.model_list import MODELS
from efcml.rivals.per_label import ChainLearner, OneVsRestLearner
from efcml.saving.file_checks import shorten, take, take_words
from efcml.saving.learners import (
    check_learner,
    check_per_label,
    learner_shapes,
    per_label_shapes,
)
from efcml.support.states import from_plain, nest, pick, to_plain

if TYPE_CHECKING:
    from efcml.support.aliases import Array, Arrays, Facts, Shapes, State
    from efcml.tables import TableEncoder

LEARNERS: dict[str, Any] = {
    "EFCMLClassifier": Learner,
    "OneVsRestEFC": OneVsRestLearner,
    "ChainEFC": ChainLearner,
}
OPTIONAL = {"table": dict, "named_later": bool}  # facts that not every fitted model has
PARAMETER_KINDS = (NoneType, bool, int, float, str, list)
CLASS_TYPES = re.compile(r"[<>|][biuf][1248]|[<>]U\d{1,3}|\|O")


def pack(model: Any, table: TableEncoder | None = None) -> State:
    """Return facts and arrays of an estimator, fitted or not, and of the table of its rows."""
    params = {name: plain_parameter(name, value) for name, value in model.get_params().items()}
    facts: Facts = {"class": type(model).__name__, "params": params, "fitted": None}
    if not hasattr(model, "learner_"):
        return facts, {}
    learner, arrays = model.learner_.state()
    fitted = {
        "classes": pack_classes(model.classes_) if model._binary else None,
        "label_names": names_of(model, "label_names_"),
        "feature_names": names_of(model, "feature_names_in_"),
        "columns": pack_columns(model),
        "learner": learner,
    }
    facts["fitted"] = fitted
    if hasattr(model, "_named_later"):
        fitted["named_later"] = True
    table = table_of(model, table)
    if table is not None:  # files of other models are as they were before there were tables
        fitted["table"] = table.facts()
    return facts, nest(learner=arrays)


def shapes(facts: Facts) -> Shapes:
    """Return type and shape of every array of an estimator with these facts, or refuse them."""
    kind = LEARNERS[facts["class"]]
    take(facts, "the estimator", **{"class": str, "params": dict, "fitted": (dict, NoneType)})
    names = parameter_names(facts["class"])
    take(facts["params"], "params", **dict.fromkeys(names, PARAMETER_KINDS))
    fitted = facts["fitted"]
    if fitted is None:
        return {}
    words = (list, NoneType)
    take(
        fitted,
        "the estimator",
        classes=(dict, NoneType),
        label_names=words,
        feature_names=words,
        columns=dict,
        learner=dict,
        **{name: what for name, what in OPTIONAL.items() if name in fitted},
    )
    learner = fitted["learner"]
    if kind is Learner:
        expected = learner_shapes(learner)
        n_labels = learner["n_labels"]
    else:
        expected = per_label_shapes(learner, kind)
        n_labels = len(learner["models"])
    n_given = check_columns(fitted["columns"], learner["n_features"])
    if "table" in fitted:
        n_made = len(read_encoder(fitted["table"]).feature_names)
        if n_made != n_given:
            raise ValueError(f"a table of {n_made} features cannot be that of {n_given}")
    for name, count in (("feature_names", n_given), ("label_names", n_labels)):
        if fitted[name] is not None:
            take_words(fitted[name], name, count)
    if fitted["classes"] is not None:
        unpack_classes(fitted["classes"])
        if n_labels != 1:
            raise ValueError(f"two classes are one label, not {n_labels}")
    return nest(learner=expected)


def check(facts: Facts, arrays: Arrays) -> None:
    """Refuse values that no estimator can have."""
    if facts["fitted"] is not None:
        one = LEARNERS[facts["class"]] is Learner
        examine = check_learner if one else check_per_label
        examine(facts["fitted"]["learner"], pick(arrays, "learner"))


def unpack(facts: Facts, arrays: Arrays) -> Any:
    """Build an estimator from checked facts and arrays."""
    kind = getattr(efcml, facts["class"])
    model = kind(**{name: from_plain(value) for name, value in facts["params"].items()})
    vars(model).update(unpack_fitted(facts, arrays))
    return model


def unpack_fitted(facts: Facts, arrays: Arrays) -> dict[str, Any]:
    """Return what an estimator has learned, by the names of its attributes; nothing if it is new.

    The learner is among it, and this needs no scikit-learn.
    """
    fitted = facts["fitted"]
    if fitted is None:
        return {}
    learner = LEARNERS[facts["class"]].from_state(fitted["learner"], pick(arrays, "learner"))
    flat = fitted["classes"] is not None
    pair = unpack_classes(fitted["classes"]) if flat else None
    found: dict[str, Any] = {"_binary": flat, "_pair": pair}
    found |= unpack_columns(fitted["columns"], learner.n_features)
    for name, attribute in (
        ("label_names", "label_names_"),
        ("feature_names", "feature_names_in_"),
    ):
        if fitted[name] is not None:
            found[attribute] = np.array(fitted[name], dtype=object)
    if fitted.get("named_later"):
        found["_named_later"] = True
    if "table" in fitted:
        found["table_"] = read_encoder(fitted["table"])
    return found | {"learner_": learner}


def read_encoder(facts: Any) -> TableEncoder:
    """Return the encoder of a table, or refuse what cannot have been learned."""
    from efcml.tables.encoder import TableEncoder  # not above: it loads pandas

    return TableEncoder.from_facts(facts)


def table_of(model: Any, table: TableEncoder | None) -> TableEncoder | None:
    """Return the table that goes into the file of an estimator.

    The one that is given must fit. One that came with the model does so no more if it was fitted
    anew with other features.
    """
    given = table is not None
    table = table if given else getattr(model, "table_", None)
    if table is None or not hasattr(model, "learner_"):
        return None
    if not hasattr(table, "feature_names"):
        raise TypeError(f"table must be that of a data set, ds.table; got {type(table).__name__}.")
    names = getattr(model, "feature_names_in_", None)
    known = table.feature_names if names is None else tuple(map(str, names))
    if known == table.feature_names and len(known) == model.n_features_in_:
        return table
    if given:
        raise ValueError(
            f"the table has {len(table.feature_names)} features, the model"
            f" {model.n_features_in_} or other names: give the table of its data set."
        )
    return None


def pack_columns(model: Any) -> Facts:
    """Return the kinds of columns of a fitted estimator as JSON can hold them."""
    encoding = getattr(model, "_encoding", None)
    return {
        "flags": np.flatnonzero(model._flags).tolist(),
        "groups": [[name, list(columns)] for name, columns in model._groups.items()],
        "categories": [] if encoding is None else encoding.facts()["columns"],
    }


def check_columns(facts: Facts, n_features: int) -> int:
    """Return how many columns a table must have for so many features, or refuse the facts."""
    take(facts, "the columns", flags=list, groups=list, categories=list)
    check_places(facts["flags"], n_features)
    for pair in facts["groups"]:
        if not isinstance(pair, list) or [type(part) for part in pair] != [str, list]:
            raise ValueError(f"a group must be a name and columns, not {shorten(repr(pair), 40)}")
        if len(pair[1]) < 2:
            raise ValueError("a group must have two columns or more")
    check_places([column for _, columns in facts["groups"] for column in columns], n_features)
    if not facts["categories"]:
        return n_features
    encoding = read_encoder({"columns": facts["categories"], "labels": []})
    if len(encoding.feature_names) != n_features or len(encoding.used) < len(encoding.columns):
        raise ValueError(f"categories of other columns than those of {n_features} features")
    return len(encoding.columns)


def check_places(places: list[Any], count: int) -> None:
    """Refuse places of columns that are none, or that come twice."""
    good = all(type(place) is int and 0 <= place < count for place in places)
    if not good or len(set(places)) < len(places):
        raise ValueError(f"places of columns must be among {count}, each once")


def unpack_columns(facts: Facts, n_features: int) -> dict[str, Any]:
    """Return what an estimator knows of its columns, by the names of its attributes."""
    flags = np.zeros(n_features, dtype=bool)
    flags[facts["flags"]] = True
    found = {
        "n_features_in_": check_columns(facts, n_features),
        "_flags": flags,
        "_groups": {name: tuple(columns) for name, columns in facts["groups"]},
    }
    if facts["categories"]:
        found["_encoding"] = read_encoder({"columns": facts["categories"], "labels": []})
    return found


def parameter_names(kind: str) -> tuple[str, ...]:
    """Return the names of the parameters of an estimator, of which the name is given."""
    further = {model.kind: model.further for model in MODELS.values()}
    return (*Params.names(), *further[kind], "random_state")


def plain_parameter(name: str, value: Any) -> Any:
    """Return a parameter as JSON can hold it, or refuse it."""
    plain = to_plain(value)
    if isinstance(plain, list | tuple | np.ndarray) and all(isinstance(v, Integral) for v in plain):
        return [int(v) for v in plain]  # the order of a chain
    good = type(plain) in (NoneType, bool, int, float, str)
    if not good or (isinstance(plain, float) and not np.isfinite(plain)):
        raise ValueError(
            f"{name}={value!r} cannot be saved: set it to a number, a word or None before."
        )
    return plain


def names_of(model: Any, attribute: str) -> list[str] | None:
    """Return names as a list, or None if there are none."""
    names = getattr(model, attribute, None)
    return None if names is None else [str(name) for name in names]


def pack_classes(classes: Array) -> Facts:
    """Return the classes of a 1-D target as JSON can hold them."""
    facts = {"dtype": classes.dtype.str, "values": classes.tolist()}
    try:
        unpack_classes(facts)
    except ValueError:
        raise ValueError(f"classes of the type {classes.dtype} cannot be saved.") from None
    return facts


def unpack_classes(facts: Facts) -> Array:
    """Return the classes of a 1-D target as an array."""
    take(facts, "the classes", dtype=str, values=list)
    dtype, values = facts["dtype"], facts["values"]
    if not CLASS_TYPES.fullmatch(dtype) or len(values) not in (1, 2):
        raise ValueError("the classes must be one or two, of a common type")
    wanted = {"b": bool, "i": int, "u": int, "f": float}.get(dtype[1], str)
    if any(type(value) is not wanted for value in values):
        raise ValueError(f"the classes must be of the type {dtype}")
    try:
        with np.errstate(over="ignore"):
            classes = np.array(values, dtype=dtype)
    except (TypeError, OverflowError):  # no such type; too large for it
        classes = np.array([])
    if classes.tolist() != values or len(set(values)) < len(values):
        raise ValueError(f"the classes must be of the type {dtype}, each another one")
    return classes
