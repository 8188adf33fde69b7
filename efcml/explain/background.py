"""What the rules of one learner have in common: names, units, and what is usual."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

from efcml.explain.columns import ColumnKinds

if TYPE_CHECKING:
    from efcml.explain.landscape import Landscape
    from efcml.support.aliases import Floats


@dataclass(frozen=True, eq=False)
class Background:
    """Names, units and the usual; arrays of features are in scaled units.

    A feature in its own units is ``offset + unit * scaled``. Usual is what all rules have seen
    together: every row was won by one rule, so means of rules, weighted by their rows, are the
    means of the rows, and they follow a drift.
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

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.columns.names

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


def name_all(names: Iterable[object] | None, prefix: str, count: int) -> tuple[str, ...]:
    """Return ``count`` names as strings; numbered ones where there are none.

    Examples
    --------
    >>> name_all(["a"], "label", 2)
    ('a', 'label1')
    """
    given = () if names is None else tuple(str(name) for name in names)
    return given + tuple(f"{prefix}{i}" for i in range(len(given), count))


def names_of_labels(fitted: Any) -> Sequence[str] | None:
    """Return the names of an estimator's labels, None where there are none.

    A 1-D target is called by its second class.
    """
    return (
        [f"class {fitted._pair[-1]}"] if fitted._binary else getattr(fitted, "label_names_", None)
    )
