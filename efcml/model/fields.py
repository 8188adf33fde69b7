"""The tables of arrays: everything that rules, cases and the scale remember, one line for each.

Allocation, growth, removal, merging, late labels, copying, saving and the documentation of the
state all follow from them. Sizes: ``p`` features, ``K`` labels, ``d = p + 1``, ``q = p + K``, ``g``
label groups (1 while every row so far was fully labelled, K afterwards), ``R`` rules that there is
room for, ``L`` planes: K, or K for each of several pairs (alpha, beta) that are carried along
in one pass, ``m`` cases.

``W``, ``B``, ``D`` and ``W_prior`` are stored with one row per label, the transpose of how the
formulas are written: what a label learns is then contiguous, together with others or alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Array, Shapes

# What a merged rule has: from the two values, or worked out from several fields (model/merging.py).
MERGED: dict[str, Callable[[Any, Any], Any] | None] = {
    "sum": lambda a, b: a + b,
    "most": np.maximum,
    "least": np.minimum,
    "first": lambda a, b: a,
    "computed": None,
}

# What the halves of a rule start with; what is "computed" has the fill value until then.
SPLIT = ("both", "halves", "computed")

# What a change of units does: nothing, or it is worked out in model/units.py.
UNITS = ("same", "computed")


@dataclass(frozen=True)
class Field:
    """One array: its name, shape, meaning, symbol, type, fill value.

    A newborn rule has the fill value unless model/birth.py says otherwise. ``merged`` is what two
    rules have that become one, ``split`` what the halves of a rule start with, ``units`` what a
    change of the features' units does to it. A label that appears late gets zeros, unless ``late``
    says that `RuleBase.add_labels` works it out. Of a ``symmetric`` matrix the kernels keep the
    lower triangle alone (kernels/triangle.py).
    """

    name: str
    dims: tuple[str, ...]
    meaning: str
    symbol: str = ""
    dtype: str = "f8"
    fill: float = 0
    merged: str = ""
    split: str = ""
    late: str = "zero"
    units: str = ""
    symmetric: bool = False


def _rule(
    name: str, dims: str, merged: str, split: str, meaning: str, symbol: str = "", **more: Any
) -> Field:
    shape = ("R", *dims.split())
    return Field(name, shape, meaning, symbol, merged=merged, split=split, **more)


def _counter(name: str, dims: str, merged: str, split: str, meaning: str, **more: Any) -> Field:
    return _rule(name, dims, merged, split, meaning, dtype="i8", **more)


def _case(name: str, dims: str, meaning: str, symbol: str = "", **more: Any) -> Field:
    return Field(name, tuple(dims.split()), meaning, symbol, **more)


_MATRIX: dict[str, Any] = {"symmetric": True}
_LATE: dict[str, Any] = {"late": "computed"}
_SAME: dict[str, Any] = {"units": "same"}
_UNITS: dict[str, Any] = {"units": "computed"}

FIELDS = (
    # the Gaussian of a rule
    _rule("center", "q", "computed", "both", "mean of the joint samples z = [x, y]", "c", **_UNITS),
    _rule(
        "joint_precision",
        "q q",
        "computed",
        "computed",
        "inverse covariance of z",
        "S^-1",
        **_MATRIX,
        **_LATE,
        **_UNITS,
    ),
    _rule(
        "input_precision",
        "p p",
        "computed",
        "computed",
        "inverse marginal covariance of x",
        "S_x^-1",
        **_MATRIX,
        **_UNITS,
    ),
    _rule(
        "log_det",
        "2",
        "computed",
        "computed",
        "log-determinants of both covariances",
        "log|S|",
        **_LATE,
        **_UNITS,
    ),
    _rule(
        "support",
        "",
        "computed",
        "halves",
        "samples won by the rule, capped by forgetting",
        "k",
        **_SAME,
    ),
    _counter(
        "updates",
        "",
        "computed",
        "computed",
        "antecedent updates since birth; never capped",
        **_SAME,
    ),
    _rule("prior_share", "", "computed", "both", "how much of S_0 is left in k S", "s", **_SAME),
    _counter(
        "tested",
        "R",
        "computed",
        "computed",
        "samples both had when last tested for a merge",
        **_SAME,
    ),
    # its planes
    _rule(
        "P",
        "g d d",
        "computed",
        "computed",
        "inverse of G + Delta",
        "P",
        **_MATRIX,
        **_LATE,
        **_UNITS,
    ),
    _rule(
        "G",
        "g d d",
        "sum",
        "halves",
        "weighted Hessian R'QR, data only",
        "G",
        **_MATRIX,
        **_LATE,
        **_UNITS,
    ),
    _rule(
        "B", "K d", "sum", "halves", "weighted information matrix Y'QR, data only", "B'", **_UNITS
    ),
    _rule(
        "Delta",
        "g d",
        "most",
        "both",
        "prior precision of the consequents",
        "Delta",
        **_LATE,
        **_SAME,
    ),
    _rule(
        "W_prior",
        "L d",
        "computed",
        "both",
        "consequents the rule was born with",
        "W_prior'",
        **_UNITS,
    ),
    _rule(
        "W",
        "L d",
        "computed",
        "both",
        "consequents, one row per label, intercept last",
        "W'",
        **_UNITS,
    ),
    _rule(
        "D",
        "L d",
        "computed",
        "computed",
        "gradient (G + Delta) W - (B + Delta W_prior)",
        "D'",
        **_UNITS,
    ),
    _rule("weight", "", "sum", "halves", "sum of the activation over learned rows", "w", **_SAME),
    _rule("use", "", "sum", "halves", "the same sum, of which nothing is forgotten", **_SAME),
    # what a reader is told of it
    _rule("decided", "", "sum", "halves", "rows of late in which it was the strongest", **_SAME),
    _rule("decided_sum", "p", "sum", "computed", "sum of these rows", **_UNITS),
    _rule("decided_known", "K", "sum", "halves", "of these, rows that knew a label", **_SAME),
    _rule("decided_ones", "K", "sum", "computed", "of these, rows that had it", **_SAME),
    # its two memories
    _rule(
        "trial",
        "4",
        "sum",
        "halves",
        "sums that tell how much the brief memory is trusted",
        **_SAME,
    ),
    _counter(
        "drifting",
        "",
        "most",
        "both",
        "1 while the brief memory is trusted, 2 to be told, more after a split",
        **_SAME,
    ),
    # its labels
    _rule(
        "label_weight",
        "g K",
        "computed",
        "halves",
        "activation over rows where both are known",
        **_LATE,
        **_SAME,
    ),
    _rule(
        "label_mean",
        "g K",
        "computed",
        "both",
        "weighted label means, per group",
        "y_bar",
        **_LATE,
        **_SAME,
    ),
    _rule("label_cov", "K K", "computed", "halves", "weighted label co-moments", **_SAME),
    _rule(
        "penalty",
        "K K",
        "computed",
        "both",
        "correlation penalty, renewed as weight grows",
        "M",
        **_SAME,
    ),
    _rule("penalty_top", "", "computed", "both", "largest eigenvalue of the penalty", **_SAME),
    _rule(
        "penalty_slack",
        "",
        "computed",
        "computed",
        "activation since the penalty was derived",
        **_SAME,
    ),
    # its proximal steps
    _rule("uncorrected", "", "sum", "halves", "activation since the last proximal steps", **_SAME),
    _rule(
        "curvature",
        "g",
        "sum",
        "both",
        "estimated bound of the eigenvalues of G + Delta",
        "U",
        **_LATE,
        **_UNITS,
    ),
    _rule(
        "curvature_direction",
        "g d",
        "first",
        "both",
        "vector of the power iteration",
        **_LATE,
        **_UNITS,
    ),
    _counter(
        "unchecked",
        "g",
        "computed",
        "computed",
        "updates of P since it was last checked",
        **_LATE,
        **_UNITS,
    ),
    _counter(
        "stale", "", "computed", "computed", "1: P is to be derived anew from G + Delta", **_UNITS
    ),
    _counter(
        "stopped",
        "",
        "most",
        "both",
        "row + 1 at which the divergence guard stopped it, or 0",
        **_SAME,
    ),
    # who it is
    _counter(
        "uid",
        "",
        "computed",
        "computed",
        "identity that survives the removal of other rules",
        fill=-1,
        **_SAME,
    ),
    _counter("born", "", "least", "computed", "row of birth", **_SAME),
    _counter("last_won", "", "most", "both", "number of the last row that it won", **_SAME),
)

CASE_FIELDS = (
    _case("rows", "m p", "the remembered rows, scaled, without far values", "z", **_UNITS),
    _case("kernel", "m m", "similarity of the cases", "K", **_MATRIX, **_UNITS),
    _case("inverse", "m m", "its inverse", "K^-1", **_MATRIX, **_UNITS),
    _case("weights", "m L", "of the cases in the answer: what k'a adds", "a", **_UNITS),
    _case("covariance", "m m", "of the weights, labels alike", "A", **_MATRIX, **_UNITS),
    _case("age", "m", "number of the row that became the case", dtype="i8", **_UNITS),
    _case(
        "count", "3", "cases, changes since K^-1 was derived, rows since one", dtype="i8", **_UNITS
    ),
)

# What a learner remembers to know when the scale of its rows must change; `n` rows can be held.
FOLLOW_FIELDS = (
    _case("level", "p", "recent mean of each scaled feature"),
    _case("square", "p", "recent mean of its square", fill=1.0),
    _case("previous", "p", "its value in the last row"),
    _case("unfit", "p", "how much of late did not fit the scale"),
    _case("asleep", "p", "whether it has never varied", dtype="?"),
    _case("lively", "p", "whether it always differed from row to row", dtype="?"),
    _case("muted", "p", "rows in which it raises no doubt", dtype="i8"),
    _case("rows", "n p", "rows that are held, in the units of the data"),
    _case("labels", "n K", "their labels"),
    _case("weights", "n", "their weights"),
    _case("count", "5", "in doubt, rows held, rows before, changes of two kinds", dtype="i8"),
)


def shape_of(field: Field, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Return the shape of a field; a dimension is called by a name, or by its length."""
    return tuple(int(dim) if dim.isdigit() else sizes[dim] for dim in field.dims)


def shapes_of(fields: Iterable[Field], sizes: Mapping[str, int]) -> Shapes:
    """Return type and shape of every field, by name."""
    return {
        field.name: (np.dtype(f"<{field.dtype}").str, shape_of(field, sizes)) for field in fields
    }


def allocate(field: Field, sizes: Mapping[str, int]) -> Array:
    """Return an array of a field with its fill value."""
    shape = shape_of(field, sizes)
    if field.fill == 0:
        return np.zeros(shape, dtype=field.dtype)  # costs nothing until it is written to
    return np.full(shape, field.fill, dtype=field.dtype)


def markdown_table(fields: Iterable[Field] = FIELDS) -> str:
    """Return the state as a markdown table, for the documentation."""
    lines = ["| array | shape | symbol | meaning |", "|---|---|---|---|"]
    for field in fields:
        shape, symbol = " x ".join(field.dims), field.symbol.replace("|", "\\|")
        lines.append(f"| `{field.name}` | {shape} | {symbol} | {field.meaning} |")
    return "\n".join(lines)
