"""An active learner as facts and arrays, for saving, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.active import options
from efcml.active.active_learner import ActiveLearner
from efcml.active.criteria import ADAPTED
from efcml.active.question import Query, Question
from efcml.kernels import querying
from efcml.support.facts import WHOLE, check_all, check_numbers, take
from efcml.support.states import nest, pick, to_plain

if TYPE_CHECKING:
    from efcml.active.question import Query
    from efcml.support.aliases import Array, Arrays, Bools, Facts, Shapes, State

OPTIONS = (
    *("budget", "unit", "criteria", "instability", "adaptation", "step", "window"),
    *("open_questions", "random_state"),
)
COUNTS = ("n_labels", "n_features", "n_asked", "n_open", "n_expired")


class ActiveState:
    """The members by which an active learner is saved, as learners have them (saving)."""

    @staticmethod
    def state(active: ActiveLearner) -> State:
        """Return facts and arrays of an active learner."""
        return active_state(active)

    @staticmethod
    def state_shapes(facts: Facts) -> Shapes:
        """Return type and shape of every array of a state with these facts, or refuse them."""
        kinds: Facts = dict.fromkeys(OPTIONS, str) | {"criteria": list}
        kinds |= dict.fromkeys(("window", "open_questions", *COUNTS), WHOLE)
        kinds |= {"budget": (WHOLE, float), "step": (WHOLE, float), "seed": range(2**64)}
        take(facts, "the active learner", **kinds | {"random_state": (int, NoneType)})
        if facts["n_open"] > facts["open_questions"]:
            raise ValueError("more questions are open than may be")
        return state_shapes(facts)

    @staticmethod
    def check_state(facts: Facts, arrays: Arrays) -> None:
        """Refuse values that no active learner can have; features may be missing."""
        check_numbers(arrays, gaps=("open/x",))
        rows, opened = arrays["asked/row"], arrays["open/row"]
        for part in (rows, opened, arrays["expired"]):
            check_all(np.diff(part) > 0, "the rows of questions are out of order")
            check_all(np.isin(part, rows), "a question waits or expired that was not asked")
        check_all(~np.isin(opened, arrays["expired"]), "a question is open and expired")
        every = np.bitwise_or.reduce([*options.BITS.values()])
        for bits in (arrays["asked/reasons"], arrays["open/reasons"]):
            check_all((bits > 0) & (bits <= every), "a question has unknown reasons")

    @staticmethod
    def from_state(facts: Facts, arrays: Arrays) -> ActiveLearner:
        """Build an active learner from what :meth:`state` returned."""
        return active_from_state(facts, arrays)


def active_state(active: ActiveLearner) -> State:
    """Return facts and arrays of an active learner."""
    log, waiting = active.log, [active._open.waiting[row] for row in active.open]
    both: list[Query | Question] = [*log, *waiting]
    widths = {len(query.labels) for query in both}
    if len(widths) > 1:
        raise ValueError("an active learner cannot be saved whose questions had more labels later.")
    facts = {name: to_plain(getattr(active, name)) for name in OPTIONS}
    facts["criteria"] = list(active.criteria)
    facts |= {"seed": active.seed, "n_labels": widths.pop() if widths else 0}
    facts["n_features"] = waiting[0].x.size if waiting else 0
    facts |= {"n_asked": len(log), "n_open": len(waiting), "n_expired": active.expired}
    K, p = facts["n_labels"], facts["n_features"]
    asked = columns(log, K)
    asked["spent"] = np.array([query.spent for query in log], dtype=np.int64)
    asked["share"] = np.array([query.share for query in log], dtype=np.float64)
    opened = columns(waiting, K)
    opened["scores"] = table([question.scores for question in waiting], K)
    opened["x"] = table([question.x[0] for question in waiting], p)
    opened["after"] = table([question.after for question in waiting], querying.STATE_SIZE)
    expired = np.array(sorted(active._open.expired), dtype=np.int64)
    arrays = {"state": active.state.copy(), "expired": expired}
    return facts, arrays | nest(asked=asked, open=opened)


def state_shapes(facts: Facts) -> Shapes:
    """Return type and shape of every array of a state with these facts."""
    n, K, S = facts["n_asked"], facts["n_labels"], querying.STATE_SIZE
    shapes = {"state": ("<f8", (S,)), "expired": ("<i8", (facts["n_expired"],))}
    asked = column_shapes(n, K) | {"spent": ("<i8", (n,)), "share": ("<f8", (n,))}
    n = facts["n_open"]
    opened = column_shapes(n, K) | {
        "scores": ("<f8", (n, K)),
        "x": ("<f8", (n, facts["n_features"])),
        "after": ("<f8", (n, S)),
    }
    return shapes | nest(asked=asked, open=opened)


def active_from_state(facts: Facts, arrays: Arrays) -> ActiveLearner:
    """Build an active learner from what `active_state` returned."""
    active = ActiveLearner(**{name: facts[name] for name in OPTIONS})
    active.seed = facts["seed"]
    active.state = arrays["state"]
    asked, opened = pick(arrays, "asked"), pick(arrays, "open")
    for i, start in enumerate(lines(asked)):
        active._log.append(Query(*start, int(asked["spent"][i]), float(asked["share"][i])))
    for i, (row, reasons, labels, thresholds) in enumerate(lines(opened)):
        scores = opened["scores"][i].copy()
        labels.flags.writeable = scores.flags.writeable = False
        x, after = opened["x"][i : i + 1].copy(), opened["after"][i].copy()
        question = Question(row, labels, reasons, thresholds, scores, x, after, active.asker)
        active._open.add(row, question)
    active._open.expired.update(arrays["expired"].tolist())
    return active


def columns(questions: Sequence[Question | Query], n_labels: int) -> Arrays:
    """Return what a question and a line of the log have in common, one array each."""
    thresholds = [[question.thresholds[name] for name in ADAPTED] for question in questions]
    bits = [sum(options.BITS[word] for word in question.reasons) for question in questions]
    return {
        "row": np.array([question.row for question in questions], dtype=np.int64),
        "reasons": np.array(bits, dtype=np.uint8),
        "labels": table([question.labels for question in questions], n_labels, np.bool_),
        "thresholds": table(thresholds, len(ADAPTED)),
    }


def column_shapes(n: int, n_labels: int) -> Shapes:
    """Return type and shape of the arrays of `columns`."""
    return {
        "row": ("<i8", (n,)),
        "reasons": ("|u1", (n,)),
        "labels": ("|b1", (n, n_labels)),
        "thresholds": ("<f8", (n, len(ADAPTED))),
    }


def lines(columns: Arrays) -> Iterator[tuple[int, tuple[str, ...], Bools, dict[str, float]]]:
    """Yield row, reasons, labels and thresholds of every question."""
    for i, row in enumerate(columns["row"].tolist()):
        thresholds = dict(zip(ADAPTED, columns["thresholds"][i].tolist(), strict=True))
        yield (
            row,
            options.reasons_of(columns["reasons"][i]),
            columns["labels"][i].copy(),
            thresholds,
        )


def table(rows: Sequence[Any], width: int, dtype: Any = np.float64) -> Array:
    """Return rows as one array, also if there are none."""
    return np.array(rows, dtype=dtype).reshape(len(rows), width)
