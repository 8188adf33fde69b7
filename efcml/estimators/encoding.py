"""Columns of categories as columns of 0 and 1: the one place that knows how tables become numbers.

A column of a pandas category becomes one column for each of its values. A value that was not there
at the first call is none of them; where it is missing, so are all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.explain import Group
from efcml.support.masks import is_missing

if TYPE_CHECKING:
    from efcml.support.aliases import Floats

UNKNOWN = -1.0


@dataclass(frozen=True)
class Encoding:
    """The values of every column that is a category, by its place among the columns given."""

    values: Mapping[int, tuple[Any, ...]]

    def put_codes(self, X: Any) -> Any:
        """Return a table in which categories are numbers: the place of the value, -1 or NaN."""
        if hasattr(X, "isetitem"):
            X = X.copy()
            for column, values in self.values.items():
                if column < X.shape[1]:
                    X.isetitem(column, find_codes(X.iloc[:, column], values))
            return X
        table = np.array(X, dtype=object)
        for column, values in self.values.items():
            if table.ndim == 2 and column < table.shape[1]:
                table[:, column] = find_codes(table[:, column], values)
        return table

    def spread(self, X: Floats) -> Floats:
        """Return rows with codes as rows of the learner: a column for each value."""
        parts = []
        for column in range(X.shape[1]):
            values = self.values.get(column)
            one = X[:, [column]]
            if values is not None:
                one = np.where(np.isnan(one), np.nan, one == np.arange(len(values)))
            parts.append(one)
        return np.ascontiguousarray(np.hstack(parts))

    def names(self, given: Sequence[str]) -> list[str]:
        """Return the names of the learner's columns by those of the columns given."""
        return [
            name if value is None else f"{name}={value}"
            for column, name in enumerate(given)
            for value in self.values.get(column, (None,))
        ]

    def groups(self, given: Sequence[str]) -> list[Group]:
        """Return the columns of the learner that are values of one category."""
        found, first = [], 0
        for column, name in enumerate(given):
            values = self.values.get(column)
            if values is not None:
                places = tuple(range(first, first + len(values)))
                found.append(Group(name, places, tuple(map(str, values))))
            first += 1 if values is None else len(values)
        return found


def find_codes(column: Any, values: Sequence[Any]) -> Floats:
    """Return the place of each value of a column; -1 for an unknown one, NaN where none is."""
    places = {value: place for place, value in enumerate(values)}
    codes = [np.nan if is_missing(value) else places.get(value, UNKNOWN) for value in column]
    return np.array(codes, dtype=float)


def find_encoding(X: Any) -> Encoding | None:
    """Return how the categories of a data frame are encoded; None if it has none."""
    kinds = getattr(X, "dtypes", None) if hasattr(X, "isetitem") else None
    values = {
        column: tuple(kind.categories)
        for column, kind in enumerate(() if kinds is None else kinds)
        if hasattr(kind, "categories")
    }
    empty = [X.columns[column] for column, some in values.items() if not some]
    if empty:
        raise ValueError(f"column {empty[0]} is a category without any value: drop it.")
    return Encoding(values) if values else None
