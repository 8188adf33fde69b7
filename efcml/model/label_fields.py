"""The tables of what errors teach of the labels, one line for each array; `fields` has the others.

Sizes: ``K`` labels, ``t`` thresholds of a grid. No array of them knows features, so a change of
their units changes nothing here.
"""

from __future__ import annotations

import math
from typing import Any

from efcml.model.fields import Field

UNKNOWN_VARIANCE = 0.1  # of the errors of a label of which nothing is known


def _kept(name: str, dims: str, meaning: str, symbol: str = "", **more: Any) -> Field:
    return Field(name, tuple(dims.split()), meaning, symbol, units="same", **more)


_MATRIX: dict[str, Any] = {"symmetric": True}

TOGETHER_FIELDS = (
    _kept("sums", "K K", "sums of products of errors", "T", **_MATRIX),
    _kept("rows", "K", "rows that know each label", "n"),
    _kept("variance", "K", "variance of the errors before any row", "v", fill=UNKNOWN_VARIANCE),
    _kept("trial", "4", "sums that tell how much labels say of each other"),
    _kept("count", "2", "rows so far, and when the next three are derived anew", dtype="i8"),
    _kept("precision", "K K", "inverse of the covariance of errors", "E^-1", **_MATRIX),
    _kept("covariance", "K K", "of errors, as far as it is trusted", "E_m", **_MATRIX),
    _kept("form", "K K", "its inverse", "E_m^-1", **_MATRIX),
)

TOGETHER_SCRATCH = (
    _kept("said", "K", "what the other labels say of the error of each"),
    _kept("product", "K", "a matrix times a vector"),
    _kept("line", "K", "a line of a matrix"),
    _kept("part", "K", "errors of the known labels, or of a decision"),
    _kept("places", "K", "where the known labels are", dtype="i8"),
    _kept("matrix", "K K", "a covariance that is used up"),
    _kept("inverse", "K K", "the inverse of a part of it"),
    _kept("left", "K", "labels that nobody has told yet", dtype="?"),
    _kept("given", "K", "scores given what is told"),
    _kept("other", "K", "a second decision"),
    _kept("errors", "K", "of a row, 0 where a label is unknown"),
    _kept("known", "K", "which labels of a row are known", dtype="?"),
    _kept("nothing", "K", "labels of which none is known", fill=math.nan),
    _kept("sharpness", "K", "by how much known labels make probabilities sharper", fill=1.0),
)

CALIBRATION_FIELDS = (
    _kept("shared", "2", "level and slope of the curve of all labels", "t"),
    _kept("shared_information", "3", "what is known of them"),
    _kept("own", "K 2", "how the curve of a label differs", "d"),
    _kept("own_information", "K 3", "what is known of that"),
)

CALIBRATION_SCRATCH = (_kept("gaps", "K", "truth minus probability"),)

THRESHOLD_FIELDS = (
    _kept("rows", "K", "rows that know each label"),
    _kept("true", "K", "rows in which it is true"),
    _kept("said", "K t", "rows in which it is said, by threshold"),
    _kept("hits", "K t", "rows in which it is said rightly"),
)

THRESHOLD_SCRATCH = (
    _kept("recall", "t", "hits for each true label, of all labels together"),
    _kept("effort", "t", "how often they are said for each true label"),
    _kept("found", "K", "the threshold of each label"),
)
