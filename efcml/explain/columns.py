"""What kind of thing each column is: a number, a flag, or one value of a group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Bools, Floats

# `machine_A`, `machine=A`, `machine is A`: what stands before the last such sign names a group.
VALUE = re.compile(r"^(?P<group>.+)(?:=|_| is |:)(?P<value>.+?)$", re.S)

NEXT_TO_0 = 1e-9  # rounding


class Group(NamedTuple):
    """Columns of 0 and 1 of which one at most is 1: the values of one thing."""

    name: str
    columns: tuple[int, ...]
    values: tuple[str, ...]


class Variable(NamedTuple):
    """What a person takes for one thing: a column, or all columns of a group."""

    name: str
    columns: tuple[int, ...]
    kind: str  # "number", "flag" or "group"
    values: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ColumnKinds:
    """Names of all columns, which of them hold 0 and 1 alone, and which belong together."""

    names: tuple[str, ...]
    flags: Bools  # (p,)
    groups: tuple[Group, ...] = field(default=())

    @classmethod
    def of_numbers(cls, names: Sequence[str]) -> ColumnKinds:
        """Return columns of which nothing is known but their names."""
        return cls(tuple(names), np.zeros(len(names), dtype=bool))

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """All things in the order of their first columns; each column is in one of them."""
        first = {group.columns[0]: group for group in self.groups}
        inside = {column for group in self.groups for column in group.columns}
        found = []
        for j, name in enumerate(self.names):
            if j in first:
                group = first[j]
                # `genre is rock`, not `genre is genre=rock`
                values = tuple(value.removeprefix(f"{group.name}=") for value in group.values)
                found.append(Variable(group.name, group.columns, "group", values))
            elif j not in inside:
                found.append(Variable(name, (j,), "flag" if self.flags[j] else "number"))
        return tuple(found)

    def with_found_groups(self, rows: Floats, zeros: Floats) -> ColumnKinds:
        """Return the same with groups of flags that share the beginning of their names.

        Exactly one of them must be 1 in every row that has them. ``rows`` are in units in which
        ``zeros`` (p,) stand for 0.
        """
        taken = {column for group in self.groups for column in group.columns}
        found = []
        for name, members in common_beginnings(self.names).items():
            columns = [j for j in members if self.flags[j] and j not in taken]
            if len(columns) == len(members) > 1 and is_partition(rows[:, columns] - zeros[columns]):
                values = tuple(members[j] for j in columns)
                found.append(Group(name, tuple(columns), values))
        return ColumnKinds(self.names, self.flags, (*self.groups, *found))


def common_beginnings(names: Sequence[str]) -> dict[str, dict[int, str]]:
    """Return the columns of each beginning that several names share, and the rest of the names.

    Examples
    --------
    >>> common_beginnings(["age", "machine_A", "machine_B"])
    {'machine': {1: 'A', 2: 'B'}}
    """
    found: dict[str, dict[int, str]] = {}
    for j, name in enumerate(names):
        parts = VALUE.match(name)
        if parts:
            found.setdefault(parts["group"], {})[j] = parts["value"]
    return {group: members for group, members in found.items() if len(members) > 1}


def is_partition(flags: Floats) -> bool:
    """Tell whether exactly one flag is above 0 in every row, but for rows with gaps (NaN)."""
    rows = flags[~np.isnan(flags).any(axis=1)]
    return bool(len(rows) and ((rows > NEXT_TO_0).sum(axis=1) == 1).all())


def find_flags(X: Floats) -> Bools:
    """Return which columns hold nothing but 0 and 1 (p,); missing values (NaN) do not count.

    Examples
    --------
    >>> find_flags(np.array([[0.0, 2.0], [1.0, 1.0]]))
    array([ True, False])
    """
    return ((X == 0.0) | (X == 1.0) | np.isnan(X)).all(axis=0)
