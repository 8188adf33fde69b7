"""What an estimator knows of its columns: names, flags, groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.explain import ColumnKinds, Group, find_flags, name_all

if TYPE_CHECKING:
    from efcml.support.aliases import Bools


def kinds_of_columns(estimator: Any) -> ColumnKinds:
    """Return names and kinds of the columns of a fitted estimator's learner."""
    given = getattr(estimator, "feature_names_in_", None)
    names: Sequence[str] = name_all(given, "x", estimator.n_features_in_)
    groups: list[Group] = []
    encoding = getattr(estimator, "_encoding", None)
    if encoding is not None:
        names, groups = spread_names(names, encoding.columns)
    groups += [
        Group(name, columns, tuple(names[j] for j in columns))
        for name, columns in estimator._groups.items()
    ]
    return ColumnKinds(tuple(names), flags_of(estimator.learner_), tuple(groups))


def flags_of(learner: Any) -> Bools:
    """Return which features held 0 and 1 alone in the rows that a learner remembers."""
    models = getattr(learner, "models", [learner])
    model = next((model for model in models if model.fitted), models[0])
    p = learner.n_features
    if not model.fitted:
        return find_flags(np.array([x[:p] for x, _ in model.held]).reshape(-1, p))
    rows = model.latest[0]
    zero, one = model.scaler.transform(np.tile([[0.0], [1.0]], model.n_features))
    zeros, ones = np.isclose(rows, zero), np.isclose(rows, one)
    mean, scale = model.scaler.mean, model.scaler.scale
    both = zeros.any(axis=0) & ones.any(axis=0)  # a number may be 1 for long
    both |= np.isclose(scale**2, mean * (1.0 - mean))  # in the initial rows
    return ((zeros | ones | np.isnan(rows)).all(axis=0) & both & (zero != one)[0])[:p]


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


def find_groups(
    groups: Mapping[str, Sequence[str]], columns: ColumnKinds
) -> dict[str, tuple[int, ...]]:
    """Return the columns of groups that are given by names, or say what is wrong with them."""
    places = {name: j for j, name in enumerate(columns.names)}
    grouped = {j for group in columns.groups for j in group.columns}
    chosen = {}
    for group, names in groups.items():
        wrong = [name for name in names if name not in places or not columns.flags[places[name]]]
        if wrong:
            raise ValueError(f"group {group!r}: {wrong[0]!r} is no column of 0 and 1 of the model.")
        chosen[str(group)] = tuple(places[name] for name in names)
        if len(names) < 2 or grouped & {*chosen[str(group)]}:
            raise ValueError(f"group {group!r} must have two columns or more, none in two groups.")
        grouped |= {*chosen[str(group)]}
    return chosen
