"""What a report says in words, and how it writes numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml import measures
from efcml.report.figures import constant_scores
from efcml.rivals.model_list import MODELS

if TYPE_CHECKING:
    from efcml.active import ActiveLearner
    from efcml.evaluation import PrequentialResult
    from efcml.support.aliases import Facts

TITLES = {
    "dataset": "data set",
    "model": "model",
    "n_initial": "rows learned first, as a batch",
    "n_stream": "rows of the stream",
    "rows_left": "rows not reached",
    "n_features": "features",
    "n_labels": "labels",
    "pa": "partial accuracy (PA)",
    "ap": "average precision (AP)",
    "macro_f1": "macro F1",
    "subset_accuracy": "subset accuracy",
    "log_loss": "log loss",
    "calibration_error": "calibration error",
    "rules": "rules at the end",
    "births": "rules born",
    "splits": "rules cut in two",
    "merges": "pairs of rules merged",
    "drops": "rules dropped",
    "drifts": "times that a rule drifted",
    "queried_share": "share of labels given to the model",
    "budget": "budget",
    "unit": "unit of the budget",
    "criteria": "criteria that ask",
    "ms_per_sample": "milliseconds per row",
    "seconds": "seconds in the model",
    "seed": "seed",
    "learns": "learns from the stream",
    "shuffled": "stream shuffled",
    "quick": "cut short (quick)",
    "interrupted": "interrupted",
    "version": "version of efcml",
}
FORMATS = {
    "pa": ".4f",
    "ap": ".4f",
    "macro_f1": ".4f",
    "subset_accuracy": ".4f",
    "log_loss": ".4f",
    "calibration_error": ".4f",
    "queried_share": ".1%",
    "ms_per_sample": ".3g",
    "seconds": ".3g",
    "frequency": ".1%",
    "constant_pa": ".4f",
    "f1": ".4f",
}
CAPTIONS = {
    "trends": (
        "Measures along the stream. Every row is predicted before it is learned. The first few "
        "rows, too few for a mean, are not drawn."
    ),
    "rules": (
        "Number of rules along the stream. Ticks: where rules are born, split, merged, dropped, or "
        "drift. Strips, if there are any: which of the rules at the end would decide each row; the "
        "darker, the more rows of a stretch."
    ),
    "memberships": (
        "Where the rules lie along the features that tell them apart: 1 at the center of a rule, "
        "in standard deviations from the usual."
    ),
    "cards": (
        "The rules that decide most: when they hold, and the share of each label in the rows that "
        "they decided of late, with its interval; of many labels those that are least as usual. "
        "Beyond the line a label is more likely than not."
    ),
    "importance": (
        "How much the features move the score of each label: per standard deviation of the feature "
        "inside a rule, over all rules by their share of the activation."
    ),
    "reliability": (
        "Whether probabilities are what they say: how often labels were true of which so much was "
        "said before. On the diagonal both are the same; bars are as long as chance may move a "
        "share."
    ),
    "spending": "Share asked so far, and the budget. Ticks: the criterion that asked.",
}
DECIDED = {  # by the parameter ``decision``: when a label is predicted
    "hamming": "A label is predicted if its score is at least 0.5.",
    "f1": (
        'Decisions are by decision="f1": a label is predicted from the score on at which its F1 '
        "had been best so far. So rare labels are said, and partial accuracy is usually lower."
    ),
    "subset": (
        'Decisions are by decision="subset": predicted are the labels that are most likely as a '
        "whole set. Partial accuracy is usually lower than if each were decided alone."
    ),
}
LABELS_CAPTION = "Every label by itself, the most frequent first"
LABELS_MEAN = (
    "Frequency: share of rows with the label. PA: share of right decisions on it; constant: of "
    "always giving the more frequent answer. F1: twice the rows that have the label and were given "
    "it, divided by the rows that have it plus the rows that were given it."
)


def show(key: str, value: Any) -> str:
    """Return a value as the page shows it.

    Examples
    --------
    >>> show("pa", 0.80449), show("queried_share", 0.1), show("interrupted", False)
    ('0.8045', '10.0%', 'no')
    """
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "none"
    if key in FORMATS:
        return format(value, FORMATS[key])
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def model_title(name: str) -> str:
    """Return the name of a model for readers."""
    return MODELS[name].title if name in MODELS else str(name)


def headline(summary: Facts) -> str:
    """Return the title of the page."""
    return f"{model_title(summary['model'])} on {summary['dataset']}"


def tell_run(summary: Facts, result: PrequentialResult, active: ActiveLearner | None) -> str:
    """Say in a few sentences how the run went."""
    rows = len(result.Y)
    start = f"{summary['n_initial']} rows were learned as a batch. Then {rows} rows came one by one"
    if active is not None:
        how = (
            f"each was predicted first. {show('queried_share', summary['queried_share'])} of the "
            f"{active.unit} were asked for and learned; the budget is {active.budget:.1%}."
        )
    elif result.queried.any():
        how = "each was predicted first and learned after that."
    else:
        how = "each was predicted, and nothing was learned from them."
    return f"{start}: {how}"


def tell_interruption(summary: Facts, result: PrequentialResult) -> str:
    """Say that a run is not complete; nothing if it is."""
    if not summary.get("interrupted"):
        return ""
    return f"This run was interrupted after {len(result.Y)} rows. All numbers are about these rows."


def constant_answer(result: PrequentialResult) -> dict[str, float]:
    """Return both measures of one answer for all rows."""
    scores = constant_scores(result.Y)
    return {name: measures.MEASURES[name](result.Y, scores) for name in ("pa", "ap")}


def tell_measures(
    summary: Facts, result: PrequentialResult, constant: Mapping[str, float]
) -> list[str]:
    """Say what the numbers mean, how labels were decided, and what was left out."""
    decision = summary["parameters"].get("decision", "hamming")
    rows = len(result.Y)
    unranked = int(np.isnan(measures.average_precision_rows(result.Y, result.scores)).sum())
    unknown = int(np.isnan(result.Y).sum())
    sentences = [
        "Partial accuracy (PA) is the share of right decisions among all decisions on known "
        f"labels, which is 1 minus the Hamming loss. {DECIDED[decision]}",
        "Average precision (AP) ranks the labels of a row by their scores; it is the share of true "
        "labels down to each true one, averaged over the true labels of a row and then over rows. "
        f"Rows without a true label have no AP: {unranked} of {rows} are left out of it.",
        "The constant answer gives every row the same scores, the share of each label in this "
        "stream, so its decision is the majority for each label. It knows the whole stream in "
        f"advance. Its PA is {show('pa', constant['pa'])}, its AP {show('ap', constant['ap'])}.",
    ]
    if unknown:
        sentences.append(
            f"{unknown} of {result.Y.size} labels are unknown. They count neither as right nor as "
            "wrong."
        )
    return sentences


def describe(name: str, summary: Facts, result: PrequentialResult) -> str:
    """Return in words what a figure of a run shows, with its last values; nothing for others."""
    if name == "trends":
        return (
            f"Two line charts over {len(result.Y)} rows. At the end partial accuracy is "
            f"{show('pa', summary['pa'])} and average precision {show('ap', summary['ap'])}."
        )
    if name == "rules":
        return (
            f"Step chart of the number of rules: {result.rules[0]} after the first row, at most "
            f"{result.rules.max()}, {result.rules[-1]} at the end."
        )
    if name == "reliability":
        error = result.measure("calibration_error")
        return (
            f"Share of true labels over the probability that was said: {error:.3f} apart in the "
            "mean over all labels."
        )
    if name == "spending":
        asked = show("queried_share", summary["queried_share"])
        return f"Line chart of the share asked so far: {asked} at the end."
    return ""
