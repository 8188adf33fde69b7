"""The tables of scratch arrays, in which kernels hand a row from one phase to the next.

Sizes are those of efcml/model/fields.py; besides, ``a`` is the number of pairs (alpha, beta) that
are carried along, ``ahead`` and ``waiting`` are numbers of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from efcml.kernels.constants import AHEAD, WAITING
from efcml.model.fields import Field, allocate

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Sizes

LENGTHS = {"ahead": AHEAD, "waiting": WAITING}


def _array(name: str, dims: str, meaning: str, dtype: str = "f8") -> Field:
    return Field(name, tuple(dims.split()), meaning, dtype=dtype)


ALL_ALIKE = np.empty(0)  # in the place of weights of rows
AMOUNT = Field("amount", ("1",), "the weight of the row", fill=1.0)

SCRATCH = (
    # the row
    _array("z", "q", "the joint row [x, y]"),
    _array("row", "d", "r = [x, 1]"),
    _array("known", "K", "which labels are known", "?"),
    AMOUNT,
    _array("expected", "K", "what the winner expects of the labels"),
    _array("distances", "R", "squared distances in the input space"),
    _array("heights", "R L", "all planes at the row"),
    _array("answers", "R L", "what each rule says: the planes of both memories at the row"),
    _array("activation", "R", "Psi"),
    _array("weights", "R", "how much each rule learns from the row"),
    _array("factors", "R", "what a row that only it learns leaves each rule"),
    _array("keeps", "R", "what forgetting leaves each rule"),
    # other rows
    _array("alone", "1 R", "distances of a row that is looked at alone"),
    _array("ahead", "ahead R", "distances of the next rows"),
    # features that are missing (kernels/gaps.py); all rows are the same if none is
    _array("gaps", "1", "how many features of the row in view are missing", "i8"),
    _array("missing", "p", "which ones", "i8"),
    _array("absent", "q", "whether each is; labels never are", "?"),
    _array("marginal", "R", "squared distances over the features that are there"),
    _array("own", "R d", "r = [x, 1] as each rule fills it in"),
    _array("filled", "p", "x as all rules together fill it in"),
    _array("block", "p p", "precision of the missing features, and its factor"),
    _array("held", "p p", "likewise, of the winner before it learns"),
    _array("right", "p", "of a system with it: the right side"),
    _array("lines", "p q", "what the winner's precision loses"),
    # within a kernel
    _array("e", "q", "deviation from a center"),
    _array("v", "q", "of an update: precision times e, scaled"),
    _array("u", "q", "of an update: the line of the variance floor"),
    _array("gain", "d", "P r"),
    _array("image", "d", "a matrix of d times a vector"),
    _array("back", "d", "P times the image"),
    _array("unused", "d", "a product that nobody needs"),
    _array("old", "K", "labels without their old means"),
    _array("corr", "K K", "label correlation of a rule"),
    _array("label_product", "L d", "penalty times planes"),
    _array("step", "L d", "dW, the proximal step of all planes"),
    _array("product", "L d", "(G + Delta) dW"),
    _array("squares", "a", "|dW|^2"),
    _array("bounds", "a g", "upper bounds of the curvature"),
    # what waits (kernels/waiting.py)
    _array("shrink", "R g d", "the vector w that P is to lose"),
    _array("scale", "R g", "by which P is to be scaled, or 0"),
    _array("roots", "R g", "w is so many times P r"),
    _array("rows", "waiting d", "rows for all G"),
    _array("row_weight", "R g waiting", "their weights"),
    _array("row_keep", "R g waiting", "what each makes G forget"),
    _array("done", "R g", "how many of them each G has", "i8"),
    _array("count", "1", "how many wait", "i8"),
    _array("scaled", "waiting d", "rows times roots of their weights"),
)

CASE_SCRATCH = (
    _array("place", "p", "the row without far values"),
    _array("similar", "m", "similarity of the row to each case"),
    _array("share", "m", "shares with which the cases imply the row"),
    _array("gain", "m", "covariance of the weights with the row"),
    _array("step", "m", "what the covariance loses, or a new case adds"),
    _array("line", "m", "a line of the inverse"),
    _array("turn", "m", "with it, how the matrices change when a case goes"),
    _array("waits", "1", "whether the covariance is to lose the step", "?"),
    _array("expected", "L", "what the cases say of the row"),
    _array("errors", "L", "of the rules at the row"),
    AMOUNT,
)


def scratch_arrays(sizes: Sizes) -> Arrays:
    """Return the scratch arrays of rules, by name."""
    return {field.name: allocate(field, sizes | LENGTHS) for field in SCRATCH}
