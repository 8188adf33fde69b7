"""What the rules of one learner have in common: names, kinds of columns, units, the usual."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from efcml.explain.choosing import Partition
from efcml.support.aliases import Bools, Floats, Ints

MOST_NAMES = 8


class Group(NamedTuple):
    """What a person takes for one thing: a column, or columns of 0 and 1 with one name."""

    name: str
    columns: tuple[int, ...]
    values: tuple[str, ...] = ()  # of a group
    kind: str = "group"  # or "several" if more than one can be 1, "number", "flag" or "rest"


@dataclass(frozen=True, eq=False)
class ColumnKinds:
    """Names of all columns, which of them hold 0 and 1 alone, and which belong together."""

    names: tuple[str, ...]
    flags: Bools  # (p,)
    groups: tuple[Group, ...] = ()

    @cached_property
    def variables(self) -> tuple[Group, ...]:
        """All things in the order of their first columns; each column is in one of them."""
        grouped = {column for group in self.groups for column in group.columns}
        found = [
            Group(name, (j,), (), "flag" if self.flags[j] else "number")
            for j, name in enumerate(self.names)
            if j not in grouped
        ]
        for group in self.groups:  # `genre is rock`, not `genre is genre=rock`
            values = tuple(value.removeprefix(f"{group.name}=") for value in group.values)
            found.append(group._replace(values=values))
        return tuple(sorted(found, key=lambda thing: thing.columns[0]))

    def look_for_several(self, there: Bools) -> Self:
        """Return the same, with groups marked of which some row of ``there`` (n, p) has several."""
        groups = tuple(
            group._replace(kind="several")
            if group.kind == "group" and (there[:, group.columns].sum(axis=1) > 1).any()
            else group
            for group in self.groups
        )
        return replace(self, groups=groups)

    @cached_property
    def named(self) -> Bools:
        """Which columns are features, not a part of the rest (p,)."""
        named = np.ones(len(self.names), bool)
        named[[j for group in self.groups if group.kind == "rest" for j in group.columns]] = False
        return named


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
    partition: Partition | None  # which rule decides which rows; None before the first fit
    relevant: Bools  # (p,), features that rules are formed over
    sources: Ints  # which columns of the data these are; of the rest none
    width: int  # of the data, in columns
    why_left_out: str  # in words, empty if nothing is known
    similar: float = 0.0  # before the first fit: part of the answer that similar rows have

    def __post_init__(self) -> None:
        protect_arrays(self)

    @cached_property
    def variables(self) -> tuple[Group, ...]:
        """All things that matter: rules are formed over one of their columns at least."""
        return tuple(t for t in self.columns.variables if self.relevant[list(t.columns)].any())

    @property
    def left_out(self) -> list[str]:
        """Names of all things of which no column matters."""
        things = [thing for thing in self.columns.variables if thing.kind != "rest"]
        return [thing.name for thing in things if thing not in self.variables]

    @property
    def left_out_note(self) -> str:
        """Which things rules are not formed over, and why, in words; empty if there are none."""
        words = left_out_words(self.left_out)
        return f"{words} ({self.why_left_out})" if words and self.why_left_out else words


def protect_arrays(thing: Any) -> None:
    """Let arrays of an object refuse to be written to: nothing would follow from it."""
    for name, value in vars(thing).items():
        if isinstance(value, np.ndarray):
            vars(thing)[name] = view = value.view()  # others may write to the array itself
            view.flags.writeable = False


def left_out_words(names: Sequence[str]) -> str:
    """Return which things rules are not formed over, in words; empty if there are none."""
    more = len(names) - MOST_NAMES
    named = ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    return f"not used in the conditions: {named}" if names else ""


def why_left_out(choice: Any) -> str:
    """Return why the choice of a learner leaves features out, in words.

    They told no more than chance when they were looked at; some may tell more by now.
    """
    if not isinstance(choice.given, str):
        return "as the parameter relevance says"
    axes, (rows, told) = choice.arrays.axes, choice.course
    alike = np.flatnonzero(((told > 1.0) == axes).all(axis=1))
    if axes.all() or not len(alike):
        return ""
    words = f"told no more than chance of the labels up to row {rows[alike[0]]}"
    return words + "; some tell more by now" * bool((~axes & (choice.arrays.strength > 1.0)).any())


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
