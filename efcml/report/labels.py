"""How well each label was predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.explain import name_all
from efcml.measures import MEASURES
from efcml.report.figures import constant_scores

if TYPE_CHECKING:
    from efcml.datasets import Dataset
    from efcml.evaluation import PrequentialResult

COLUMNS = {"frequency": "frequency", "pa": "PA", "constant_pa": "constant", "f1": "F1"}


def score_labels(result: PrequentialResult) -> list[dict[str, float | None]]:
    """Return the numbers of every label, in order; None where there is none.

    "frequency" is the share of rows with the label among those where it is known, "constant_pa"
    the accuracy of the more frequent answer. F1 of one label is the micro F1 of its column. All
    but the constant answer go by what the model decided.
    """
    decided, ready = result.taken_by("pa")
    constant = constant_scores(result.Y)
    lines = []
    for label in range(result.Y.shape[1]):
        Y, own = result.Y[:, [label]], decided[:, [label]]
        known = ~np.isnan(Y)
        numbers = {
            "frequency": float(Y[known].mean()) if known.any() else np.nan,
            "pa": MEASURES["pa"](Y, own, ready=ready),
            "constant_pa": MEASURES["pa"](Y, constant[:, [label]]),
            "f1": MEASURES["micro_f1"](Y, own, ready=ready),
        }
        lines.append({key: None if np.isnan(n) else n for key, n in numbers.items()})
    return lines


def name_labels(result: PrequentialResult, classifier: Any, dataset: Dataset | None) -> list[str]:
    """Return the names of the labels: those of the data, of the model, or numbers."""
    if dataset is not None:
        return list(dataset.label_names)
    known = getattr(classifier, "label_names_", None)
    return list(name_all(known, "label", result.Y.shape[1]))
