"""A study in words: as a table, and what its differences mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from efcml.explain.phrases import count
from efcml.measures.measures import find
from efcml.studies import USUAL
from efcml.support.markup import Safe, faint, lines, table
from efcml.support.tables import format_table

if TYPE_CHECKING:
    from efcml.studies.intervals import Interval
    from efcml.studies.paired import Change
    from efcml.studies.study import Study

HARDLY = 0.01  # a largest change of scores that is worth a sentence: the switch hardly works
MOST_SENTENCES = 12  # of one kind
MOST_NAMED = 6  # things of one kind in a sentence


def title(measure: str) -> str:
    """Return a measure for the head of a column.

    Examples
    --------
    >>> title("pa"), title("micro_f1")
    ('PA', 'micro F1')
    """
    named = find(measure)
    return measure.upper() if measure in USUAL else named.title


def head_line(study: Study) -> str:
    """Return in one line what the study is and how far it has come."""
    counts = (
        count(len(study.models), "model"),
        count(len(study.data), "data set"),
        count(len(study.plan.orders), "order"),
    )
    return f"Study of {', '.join(counts)}: {study.done} of {study.total} runs done"


def columns(study: Study, measures: Sequence[str]) -> list[str]:
    """Return the heads of the table."""
    titles = [title(measure) for measure in measures]
    head = ["data", "model", *titles, "rules", "ms"]
    if len(study.models) > 1:
        head += [f"{one} minus {study.models[0]}" for one in titles]
    return head


def cells(study: Study, measures: Sequence[str]) -> list[list[str]]:
    """Return the table of a study: a line per data set and model."""
    found = []
    for row in study.findings.rows(measures):
        data, model = row["data"], row["model"]
        line = [data, model, *(f"{row[measure]:.4f}" for measure in measures)]
        line += [f"{row['rules']:.1f}", f"{row['ms_per_sample']:.2g}"]
        if len(study.models) > 1:
            line += [difference_cell(study, data, model, one, measures) for one in measures]
        found.append(line)
    return found


def difference_cell(
    study: Study, data: str, model: str, measure: str, measures: Sequence[str]
) -> str:
    """Return a difference to the first model with its interval, in points."""
    first = study.models[0]
    if model == first or not study.findings.orders(data, model, first):
        return "-"
    return find_interval(study, data, model, measure, measures).in_points()


def find_interval(
    study: Study, data: str, model: str, measure: str, measures: Sequence[str]
) -> Interval:
    """Return the difference to the first model, corrected for all that are looked at."""
    number = study.comparisons(measures)
    return study.findings.interval(data, model, study.models[0], measure, number)


# -- notes ----------------------------------------------------------------------------------


def notes(study: Study, measures: Sequence[str]) -> list[str]:
    """Return sentences on what the differences mean, and on what a reader should know."""
    compared = [
        (data, model)
        for data in study.data
        for model in study.models[1:]
        if study.findings.orders(data, model, study.models[0])
    ]
    told = [] if not compared else [about_intervals(study, measures)]
    told += [shown(study, compared, measures)] if compared else []
    changes = []
    for data, model in compared:
        change = study.findings.change(data, model, study.models[0])
        changes += about_change(change, f"On {data}, {model}")
    return told + first_few(changes) + first_few(about_warnings(study)) + about_drift(study)


def first_few(sentences: list[str]) -> list[str]:
    """Return some sentences, and how many are left out."""
    left = len(sentences) - MOST_SENTENCES
    return sentences if left <= 0 else [*sentences[:MOST_SENTENCES], f"And {left} more like these."]


def about_intervals(study: Study, measures: Sequence[str]) -> str:
    """Say what the intervals are."""
    over = "samples and orders" if len(study.plan.orders) > 1 else "samples, of one order only"
    number = study.comparisons(measures)
    many = f"corrected for {number} comparisons" if number > 1 else "for a single comparison"
    return (
        f"Differences are to {study.models[0]}, in points, paired by sample; 95 % intervals over"
        f" {over}, {many}."
    )


def shown(study: Study, compared: list[tuple[str, str]], measures: Sequence[str]) -> str:
    """Say which differences are surely not 0."""
    sides: dict[tuple[str, str, str], list[str]] = {}
    for data, model in compared:
        for measure in measures:
            interval = find_interval(study, data, model, measure, measures)
            if interval.wide_low > 0 or interval.wide_high < 0:
                side = "above" if interval.mean > 0 else "below"
                sides.setdefault((model, side, data), []).append(title(measure))
    found = [
        f"{model} {side} it in {' and '.join(names)} on {data}"
        for (model, side, data), names in sides.items()
    ]
    if not found:
        return "No difference could be shown: every interval has 0 in it."
    return f"Shown: {shortened(found, '; ')}. All other intervals have 0 in them."


def shortened(parts: list[str], between: str) -> str:
    """Return some parts, and how many are left out."""
    left = len(parts) - MOST_NAMED
    more = [f"{left} more"] if left > 0 else []
    return between.join(parts[:MOST_NAMED] + more)


def about_change(change: Change, who: str) -> list[str]:
    """Say it if a model hardly differs from the first in anything that it answered."""
    if change.nothing:
        return [f"{who} changed nothing at all: every score is the same to the last bit."]
    if change.largest >= HARDLY:
        return []
    decisions = "no decision" if not change.decisions else count(change.decisions, "decision")
    return [
        f"{who} changed no score by more than {change.largest:.1g}, and {decisions} of"
        f" {change.asked}."
    ]


def about_warnings(study: Study) -> list[str]:
    """Say which runs warned of something, and of what."""
    found = []
    for data in study.data:
        for model in study.models:
            orders = study.findings.orders(data, model)
            told = [study.findings.facts(data, model, order)["warnings"] for order in orders]
            first = next((one[0] for one in told if one), None)
            if first is not None:
                number = sum(map(bool, told))
                found.append(f"{number} of {len(orders)} runs of {model} on {data} warned: {first}")
    return found


def about_drift(study: Study) -> list[str]:
    """Say it if a shuffle destroys what a stream is about."""
    names = [n for n, one in study.plan.data.items() if one.dataset.marks and not one.redrawn]
    if not names or study.plan.orders == (0,):
        return []
    return [
        f"{', '.join(names)} drifts, and a shuffle destroys the drift: use orders=1, or give a"
        " built-in stream by its name."
    ]


# -- on screen ------------------------------------------------------------------------------


def as_text(study: Study, measures: Sequence[str] = USUAL) -> str:
    """Return the study for a terminal."""
    if not study.done:
        return f"{head_line(study)}; study.run() does them."
    body = format_table(columns(study, measures), cells(study, measures))
    return "\n".join([head_line(study), *body, *notes(study, measures)])


def as_html(study: Study) -> Safe:
    """Return the study for a notebook."""
    if not study.done:
        return Safe(f"<p>{faint(head_line(study) + '; study.run() does them.')}</p>")
    head = columns(study, USUAL)
    found = table(head, cells(study, USUAL), caption=head_line(study), right=range(2, len(head)))
    return Safe(f"{found}<p>{faint(lines(*notes(study, USUAL)))}</p>")
