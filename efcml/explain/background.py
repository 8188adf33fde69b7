"""What the rules of one learner have in common: names, kinds of columns, units, the usual."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from efcml.explain.choosing import Landscape
    from efcml.support.aliases import Bools, Floats

# `machine_A`, `machine=A`, `machine is A`: what stands before the last such sign names a group.
VALUE = re.compile(r"^(?P<group>.+)(?:=|_| is |:)(?P<value>.+?)$", re.S)
NEXT_TO_0 = 1e-9  # rounding
MOST_NAMES = 8


class Variable(NamedTuple):
    """What a person takes for one thing: a column, or columns of 0 and 1 of which one is 1."""

    name: str
    columns: tuple[int, ...]
    values: tuple[str, ...] = ()  # of a group
    kind: str = "group"  # or "number", "flag" or "rest"


Group = Variable  # the columns of a group, and the values that they stand for


@dataclass(frozen=True, eq=False)
class ColumnKinds:
    """Names of all columns, which of them hold 0 and 1 alone, and which belong together."""

    names: tuple[str, ...]
    flags: Bools  # (p,)
    groups: tuple[Group, ...] = ()

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """All things in the order of their first columns; each column is in one of them."""
        grouped = {column for group in self.groups for column in group.columns}
        found = [
            Variable(name, (j,), (), "flag" if self.flags[j] else "number")
            for j, name in enumerate(self.names)
            if j not in grouped
        ]
        for group in self.groups:  # `genre is rock`, not `genre is genre=rock`
            values = tuple(value.removeprefix(f"{group.name}=") for value in group.values)
            found.append(group._replace(values=values))
        return tuple(sorted(found, key=lambda thing: thing.columns[0]))

    @cached_property
    def named(self) -> Bools:
        """Which columns are features, not a part of the rest (p,)."""
        named = np.ones(len(self.names), bool)
        named[[j for group in self.groups if group.kind == "rest" for j in group.columns]] = False
        return named

    def with_found_groups(self, rows: Floats, zeros: Floats) -> ColumnKinds:
        """Return the same with groups of flags that share the beginning of their names.

        Exactly one of them must be 1 in every row that has them. ``rows`` are in units in which
        ``zeros`` (p,) stand for 0.
        """
        taken = {column for group in self.groups for column in group.columns}
        starts: dict[str, dict[int, str]] = {}
        for j, name in enumerate(self.names):
            if parts := VALUE.match(name):
                starts.setdefault(parts["group"], {})[j] = parts["value"]
        groups = list(self.groups)
        for name, members in starts.items():
            columns = list(members)
            if len(columns) > 1 and self.flags[columns].all() and not taken & {*columns}:
                known = rows[:, columns] - zeros[columns]
                ones = (known[~np.isnan(known).any(axis=1)] > NEXT_TO_0).sum(axis=1)
                if len(ones) and (ones == 1).all():
                    groups.append(Group(name, tuple(columns), tuple(members.values())))
        return ColumnKinds(self.names, self.flags, tuple(groups))


def find_flags(X: Floats) -> Bools:
    """Return which columns hold nothing but 0 and 1 (p,); missing values (NaN) do not count."""
    return ((X == 0.0) | (X == 1.0) | np.isnan(X)).all(axis=0)


@dataclass(frozen=True, eq=False)
class Background:
    """Names, units and the usual; arrays of features are in scaled units.

    A feature in its own units is ``offset + unit * scaled``. Usual is what the last 500 learned
    rows are like, so it follows a drift.
    """

    columns: ColumnKinds
    label_names: tuple[str, ...]
    offset: Floats  # (p,)
    unit: Floats  # (p,)
    feature_means: Floats  # (p,)
    feature_spreads: Floats  # (p,)
    label_means: Floats  # (K,)
    rows: int  # learned, or held for the warm-up
    n_rules: int  # of the whole model
    landscape: Landscape | None  # where all rules lie; None in the warm-up
    similar: float = 0.0  # in the warm-up: part of the answer that similar rows have
    relevant: Bools | None = None  # (p,), features that rules are formed over; None: all of them

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """All things that matter."""
        return self._split_variables[0]

    @property
    def left_out(self) -> tuple[Variable, ...]:
        """All things of which no column matters."""
        return self._split_variables[1]

    @property
    def left_out_words(self) -> str:
        """Which things are in no condition of any rule, in words; empty if all may be."""
        return left_out_words([thing.name for thing in self.left_out])

    @cached_property
    def _split_variables(self) -> tuple[tuple[Variable, ...], tuple[Variable, ...]]:
        things = self.columns.variables
        if self.relevant is None or self.relevant.all():
            return things, ()
        matters = [bool(self.relevant[list(thing.columns)].any()) for thing in things]
        pairs = list(zip(things, matters, strict=True))
        left_out = tuple(t for t, good in pairs if not good and t.kind != "rest")
        return tuple(t for t, good in pairs if good), left_out

    @property
    def usual_center(self) -> Floats:
        """Means of the features in the units of the data (p,)."""
        return self.offset + self.unit * self.feature_means

    def label_index(self, label: int | str) -> int:
        """Return the index of a label given by name or index."""
        if isinstance(label, Integral) and -len(self.label_names) <= label < len(self.label_names):
            return int(label) % len(self.label_names)
        if label not in self.label_names:
            raise ValueError(
                f"there is no label {label!r}: give an index or one of {list(self.label_names)}."
            )
        return self.label_names.index(label)


def left_out_words(names: Sequence[str]) -> str:
    """Return which things are in no condition of any rule, in words; empty if there are none.

    Examples
    --------
    >>> left_out_words(["weekday", "note"])
    'in no condition, since the labels do not depend on them: weekday, note'
    """
    if not names:
        return ""
    more = len(names) - MOST_NAMES
    named = ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    return f"in no condition, since the labels do not depend on them: {named}"


def name_all(names: Iterable[object] | None, prefix: str, count: int) -> tuple[str, ...]:
    """Return ``count`` names as strings; numbered ones where there are none."""
    given = () if names is None else tuple(str(name) for name in names)
    return given + tuple(f"{prefix}{i}" for i in range(len(given), count))


def names_of_labels(fitted: Any) -> Sequence[str] | None:
    """Return the names of an estimator's labels, None where there are none.

    A 1-D target is called by its second class.
    """
    if fitted._binary:
        return [f"class {fitted._pair[-1]}"]
    return getattr(fitted, "label_names_", None)
