"""A study in sentences: what its differences mean, and what a reader should know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from efcml.measures import find
from efcml.studies.intervals import Interval

if TYPE_CHECKING:
    from efcml.studies.study import Study

HARDLY = 0.01  # a largest change of scores that is worth a sentence: the switch hardly works
MOST_SENTENCES = 12  # of one kind
MOST_NAMED = 6  # things of one kind in a sentence
SHORT = {"pa": "PA", "ap": "AP", "rules": "rules", "ms_per_sample": "ms"}


def title(measure: str) -> str:
    """Return a measure, or another column of the table, for readers.

    Examples
    --------
    >>> title("pa"), title("micro_f1"), title("ms_per_sample")
    ('PA', 'micro F1', 'ms')
    """
    return SHORT.get(measure) or find(measure).title


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as 'no decision', '1 decision' or '2 decisions'."""
    return f"{number or 'no'} {noun}{'s' if number > 1 else ''}"


def notes(study: Study, measures: Sequence[str]) -> list[str]:
    """Return all sentences."""
    found = about_differences(study, measures) if study.compared else []
    return found + first_few(about_warnings(study)) + about_drift(study)


def first_few(sentences: list[str]) -> list[str]:
    """Return some sentences, and how many are left out."""
    left = len(sentences) - MOST_SENTENCES
    return sentences if left <= 0 else [*sentences[:MOST_SENTENCES], f"And {left} more like these."]


def about_differences(study: Study, measures: Sequence[str]) -> list[str]:
    """Say what the intervals are, which differences are surely not 0, and who hardly differs."""
    over = "samples and orders" if len(study.orders) > 1 else "samples, of one order only"
    number = study.comparisons(measures)
    many = f"corrected for {number} comparisons" if number > 1 else "for a single comparison"
    what = (
        f"Differences are to {study.models[0]}, in points, paired by sample; 95 % intervals over"
        f" {over}, {many}."
    )
    shown, hardly = [], []
    for (data, model), line in study.differences(measures=measures).iterrows():
        intervals = {title(name): Interval(*line[name]) for name in measures}
        for side, sign in (("above", 1), ("below", -1)):
            names = [k for k, one in intervals.items() if one.shown and sign * one.difference > 0]
            if names:
                shown.append(f"{model} {side} it in {' and '.join(names)} on {data}")
        largest, share = line["scores"]
        if largest == share == 0:
            words = "nothing at all: every score is the same to the last bit"
            hardly.append(f"On {data}, {model} changed {words}.")
        elif largest < HARDLY:
            decisions = f"{100 * share:.2g} % of the decisions" if share else "no decision"
            hardly.append(
                f"On {data}, {model} changed no score by more than {largest:.1g}, and {decisions}."
            )
    if not shown:
        found = "No difference could be shown: every interval has 0 in it."
    else:
        left = len(shown) - MOST_NAMED
        named = "; ".join(shown[:MOST_NAMED] + ([f"{left} more"] if left > 0 else []))
        found = f"Shown: {named}. All other intervals have 0 in them."
    return [what, found, *first_few(hardly)]


def about_warnings(study: Study) -> list[str]:
    """Say which runs warned of something, and of what."""
    sentences = []
    for data in study.data:
        for model in study.models:
            orders = study.orders_of(data, model)
            lines = [study.facts(model, data, order)["warnings"] for order in orders]
            warned = [one[0] for one in lines if one]
            if warned:
                many = f"{len(warned)} of {len(orders)} runs"
                sentences.append(f"{many} of {model} on {data} warned: {warned[0]}")
    return sentences


def about_drift(study: Study) -> list[str]:
    """Say it if a shuffle destroys what a stream is about."""
    names = [name for name, one in study.sets.items() if one.dataset.marks and not one.redrawn]
    if not names or study.orders == (0,):
        return []
    return [
        f"{', '.join(names)} drifts, and a shuffle destroys the drift: use orders=1, or give a"
        " built-in stream by its name."
    ]
