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
    changes = [line for pair in study.compared for line in about_change(study, *pair)]
    intervals = about_intervals(study, measures) if study.compared else []
    return intervals + first_few(changes) + first_few(about_warnings(study)) + about_drift(study)


def first_few(sentences: list[str]) -> list[str]:
    """Return some sentences, and how many are left out."""
    left = len(sentences) - MOST_SENTENCES
    return sentences if left <= 0 else [*sentences[:MOST_SENTENCES], f"And {left} more like these."]


def about_intervals(study: Study, measures: Sequence[str]) -> list[str]:
    """Say what the intervals are, and which differences are surely not 0."""
    over = "samples and orders" if len(study.orders) > 1 else "samples, of one order only"
    number = study.comparisons(measures)
    many = f"corrected for {number} comparisons" if number > 1 else "for a single comparison"
    what = (
        f"Differences are to {study.models[0]}, in points, paired by sample; 95 % intervals over"
        f" {over}, {many}."
    )
    sides: dict[tuple[str, str, str], list[str]] = {}
    for (data, model), line in study.differences(measures=measures).iterrows():
        for measure in measures:
            interval = Interval(*line[measure])
            if interval.shown:
                side = "above" if interval.difference > 0 else "below"
                sides.setdefault((model, side, data), []).append(title(measure))
    if not sides:
        return [what, "No difference could be shown: every interval has 0 in it."]
    lines = [
        f"{model} {side} it in {' and '.join(names)} on {data}"
        for (model, side, data), names in sides.items()
    ]
    left = len(lines) - MOST_NAMED
    named = "; ".join(lines[:MOST_NAMED] + ([f"{left} more"] if left > 0 else []))
    return [what, f"Shown: {named}. All other intervals have 0 in them."]


def about_change(study: Study, data: str, model: str) -> list[str]:
    """Say it if a model hardly differs from the first in anything that it answered."""
    change = study.change(data, model, study.models[0])
    who = f"On {data}, {model} changed"
    if not change.largest and not change.decisions:
        return [f"{who} nothing at all: every score is the same to the last bit."]
    if change.largest >= HARDLY:
        return []
    decisions = f"{counted(change.decisions, 'decision')} of {change.asked}"
    return [f"{who} no score by more than {change.largest:.1g}, and {decisions}."]


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
