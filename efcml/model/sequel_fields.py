"""The tables of arrays of what follows rules and cases: trust and time (how_it_works.md 9).

Sizes: ``K`` labels, ``J`` labels that can tell of others: all, or none if nothing is made of time.
"""

from __future__ import annotations

from typing import Any

from efcml.kernels.sequel import NEVER
from efcml.model.fields import Field


def _array(name: str, dims: str, meaning: str, symbol: str = "", **more: Any) -> Field:
    return Field(name, tuple(dims.split()), meaning, symbol, **more)


SEQUEL_FIELDS = (
    # least squares over all labels
    _array("moments", "5 5", "sums of products: score, last errors and labels", "A"),
    _array("targets", "5", "sums of their products with the labels", "b"),
    _array("tally", "2", "rows in these sums, and their squared errors"),
    _array("losses", "4", "what each answer got wrong of late, more than the best", "L"),
    _array("decay", "2", "sums that tell how quickly time forgets"),
    # the last rows
    _array("errors", "2 K", "last errors, as they were and faded", "l"),
    _array("labels", "2 K", "last labels against their frequencies, likewise", "v"),
    _array("errors_before", "2 K", "the errors of one row earlier"),
    _array("labels_before", "2 K", "the labels of one row earlier"),
    _array(
        "ago", "K", "rows since each label was known, this one included", dtype="i8", fill=NEVER
    ),
    _array("waiting", "1", "rows that were answered and wait to be learned", dtype="i8"),
    # frequencies
    _array("ones", "K", "rows that had the label"),
    _array("seen", "K", "rows of which it was known"),
    # what last labels say of others
    _array("links", "J J", "what a last label adds to each label", "W"),
    _array("link_covariance", "J J", "of the links to one label, all alike", "P", symmetric=True),
    _array("link_start", "1", "its diagonal before any row", "P_0"),
)

SEQUEL_SCRATCH = (
    _array("scores", "K", "of rules and cases at the row"),
    _array("frequencies", "K", "f"),
    _array("coefficients", "5", "c"),
    _array("system", "5 5", "A with what holds c, then its root"),
    _array("steering", "2", "t and phi"),
    _array("shares", "4", "of the answers"),
    _array("plain", "4", "the same of those that know no time"),
    _array("left", "K", "what is left of what was last known"),
    _array("faded_errors", "2 K", "the last errors, as far as they are left"),
    _array("faded_labels", "2 K", "the last labels, likewise"),
    _array("linked", "K", "what the last labels say of the others"),
    _array("answers", "4 K", "of the four ways"),
    _array("inputs", "5", "what one label adds to the sums"),
    _array("gain", "J", "P v"),
    _array("amount", "1", "the weight of the row", fill=1.0),
)
