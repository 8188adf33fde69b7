"""What a file knows of the columns of a table: flags, groups, and values of categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.estimators.encoding import Encoding
from efcml.saving.file_checks import shorten, take

if TYPE_CHECKING:
    from efcml.support.aliases import Facts

VALUE_KINDS = (str, int, float, bool)


def pack_columns(model: Any) -> Facts:
    """Return the kinds of columns of a fitted estimator as JSON can hold them."""
    encoding = getattr(model, "_encoding", Encoding({})).values
    return {
        "flags": np.flatnonzero(model._flags).tolist(),
        "groups": [[name, list(columns)] for name, columns in model._groups.items()],
        "categories": [
            [column, [plain_value(value) for value in values]]
            for column, values in encoding.items()
        ],
    }


def know_nothing() -> Facts:
    """Return the facts of columns of which nothing is known, as in files of 0.1.0."""
    return {"flags": [], "groups": [], "categories": []}


def plain_value(value: Any) -> Any:
    """Return a value of a category as JSON can hold it, or refuse it."""
    plain = value.item() if isinstance(value, np.generic) else value
    if type(plain) not in VALUE_KINDS:
        raise ValueError(f"the category {value!r} cannot be saved: use words or numbers.")
    return plain


def check_columns(facts: Facts, n_features: int) -> int:
    """Return how many columns a table must have for so many features, or refuse the facts."""
    take(facts, "the columns", flags=list, groups=list, categories=list)
    check_places(facts["flags"], n_features)
    check_pairs(facts["groups"], str)
    check_places([column for _, columns in facts["groups"] for column in columns], n_features)
    if any(len(columns) < 2 for _, columns in facts["groups"]):
        raise ValueError("a group must have two columns or more")
    check_pairs(facts["categories"], int)
    values = [values for _, values in facts["categories"]]
    if any(type(value) not in VALUE_KINDS for some in values for value in some):
        raise ValueError("categories must be words or numbers")
    if any(not some or len(set(some)) < len(some) for some in values):
        raise ValueError("a category must have values, each once")
    n_given = n_features - sum(len(some) - 1 for some in values)
    check_places([column for column, _ in facts["categories"]], n_given)
    return n_given


def check_pairs(pairs: list[Any], kind: type) -> None:
    """Refuse what is no list of pairs of a name or place and a list."""
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], list):
            raise ValueError("groups and categories must be pairs")
        if type(pair[0]) is not kind:
            raise ValueError(f"a group or category is called {shorten(repr(pair[0]), 40)}")


def check_places(places: list[Any], count: int) -> None:
    """Refuse places of columns that are none, or that come twice."""
    good = all(type(place) is int and 0 <= place < count for place in places)
    if not good or len(set(places)) < len(places):
        raise ValueError(f"places of columns must be among {count}, each once")


def unpack_columns(facts: Facts, n_features: int) -> dict[str, Any]:
    """Return what an estimator knows of its columns, by the names of its attributes."""
    flags = np.zeros(n_features, dtype=bool)
    flags[facts["flags"]] = True
    values = {column: tuple(some) for column, some in facts["categories"]}
    found = {
        "n_features_in_": check_columns(facts, n_features),
        "_flags": flags,
        "_groups": {name: tuple(columns) for name, columns in facts["groups"]},
    }
    return found | ({"_encoding": Encoding(values)} if values else {})
