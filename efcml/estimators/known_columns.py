"""What an estimator knows of its columns: names, flags, groups; and from which rows it knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.explain import ColumnKinds, Group, name_all

if TYPE_CHECKING:
    from efcml.support.aliases import Bools, Floats


def kinds_of_columns(estimator: Any) -> ColumnKinds:
    """Return names and kinds of the columns of a fitted estimator's learner."""
    given = getattr(estimator, "feature_names_in_", None)
    names: Sequence[str] = name_all(given, "x", estimator.n_features_in_)
    known: list[Group] = []
    encoding = getattr(estimator, "_encoding", None)
    if encoding is not None:
        names, known = spread_names(names, encoding.columns)
    known += [
        Group(name, columns, tuple(names[j] for j in columns))
        for name, columns in estimator._groups.items()
    ]
    return ColumnKinds(tuple(names), estimator._flags, tuple(known))


def spread_names(given: Sequence[str], columns: Sequence[Any]) -> tuple[list[str], list[Group]]:
    """Return names of all features, and those that are values of one category."""
    names: list[str] = []
    groups = []
    for name, column in zip(given, columns, strict=True):
        if column.values:
            places = tuple(range(len(names), len(names) + len(column.values)))
            groups.append(Group(name, places, column.values))
        names += [f"{name}={value}" for value in column.values] or [name]
    return names, groups


def is_warming_up(learner: Any) -> bool:
    """Tell whether a learner, or one of its models for each label, still holds rows to fit."""
    return not all(getattr(part, "fitted", True) for part in getattr(learner, "models", [learner]))


def rows_to_fit(learner: Any, Y: Floats) -> Bools:
    """Return which rows a learner in its warm-up will fit together with those that it holds.

    The same rows whatever the calls that they come in. Models for each label hold their own.
    """
    known = ~np.isnan(Y)
    parts = [(learner, known.any(axis=1))]
    if hasattr(learner, "models"):
        parts = [
            (model, known[:, c]) for model, c in zip(learner.models, learner.order, strict=True)
        ]
    wanted = np.zeros(len(Y), dtype=bool)
    for part, labelled in parts:
        if not getattr(part, "fitted", True):
            room = getattr(part, "params", part).warmup_rows - len(part.held)
            wanted |= labelled & (np.cumsum(labelled) <= room)
    return wanted


def find_groups(
    groups: Mapping[str, Sequence[str]], columns: ColumnKinds
) -> dict[str, tuple[int, ...]]:
    """Return the columns of groups that are given by names, or say what is wrong with them."""
    places = {name: j for j, name in enumerate(columns.names)}
    found, taken = {}, {j for group in columns.groups for j in group.columns}
    for group, names in groups.items():
        wrong = [name for name in names if name not in places or not columns.flags[places[name]]]
        if wrong:
            raise ValueError(f"group {group!r}: {wrong[0]!r} is no column of 0 and 1 of the model.")
        found[str(group)] = tuple(places[name] for name in names)
        if len(names) < 2 or taken & {*found[str(group)]}:
            raise ValueError(f"group {group!r} must have two columns or more, none in two groups.")
        taken |= {*found[str(group)]}
    return found
