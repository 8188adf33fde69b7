"""The members by which an active learner is saved, as learners have them (efcml/saving.py)."""

from __future__ import annotations

from dataclasses import astuple, fields
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.active.active_learner import ActiveLearner
from efcml.active.criteria import ADAPTED, CRITERIA
from efcml.active.questions import Query, Question, Spending
from efcml.support.states import WHOLE, check_all, check_numbers, take, to_plain

if TYPE_CHECKING:
    from efcml.support.aliases import Array, Arrays, Facts, Floats, Shapes, State

OPTIONS = (
    *("budget", "unit", "criteria", "instability", "adaptation", "step", "window"),
    *("open_questions", "random_state"),
)
COUNTS = ("n_labels", "n_features", "n_asked", "n_open", "n_expired")
SPENDING = len(fields(Spending))
HEAD = 2 + len(ADAPTED)  # row, reasons as bits in the order of the criteria, thresholds


class ActiveState:
    """Every question of the log is a line of one table, every open one a line of another."""

    @staticmethod
    def state(active: ActiveLearner) -> State:
        """Return facts and arrays of an active learner."""
        log, waiting = active.log, active.waiting
        K = max([len(q.labels) for q in log] + [len(q.labels) for q in waiting], default=0)
        p = max([question.x.shape[1] for question in waiting], default=0)
        facts: Facts = {name: to_plain(getattr(active, name)) for name in OPTIONS}
        facts |= {"criteria": [*active.criteria], "seed": active.seed}
        facts |= {"n_labels": K, "n_features": p, "n_asked": len(log), "n_open": len(waiting)}
        facts |= {"n_expired": active.expired, "names": [[*one.names] for one in waiting]}

        def head(one: Query | Question) -> list[float]:
            bits = sum(2**i for i, word in enumerate(active.criteria) if word in one.reasons)
            return [one.row, bits, *(one.thresholds[word] for word in ADAPTED)]

        def padded(row: Array) -> Floats:  # labels may have come later
            return np.pad(row.astype(np.float64), (0, K - len(row)))

        asked = [[*head(one), one.spent, one.share, *padded(one.labels)] for one in log]
        opened = [
            [*head(q), *astuple(q.after), *padded(q.labels), *padded(q.scores), *q.x[0]]
            for q in waiting
        ]
        shapes = ActiveState.state_shapes(facts)
        tables: dict[str, Any] = {"asked": asked, "open": opened}
        tables |= {"expired": sorted(active._expired), "state": astuple(active.state)}
        return facts, {
            name: np.array(table, dtype=shapes[name][0]).reshape(shapes[name][1])
            for name, table in tables.items()
        }

    @staticmethod
    def state_shapes(facts: Facts) -> Shapes:
        """Return type and shape of every array of a state with these facts, or refuse them."""
        kinds: Facts = dict.fromkeys(OPTIONS, str) | {"criteria": list, "names": list}
        kinds |= dict.fromkeys(("window", "open_questions", *COUNTS), WHOLE)
        kinds |= {"budget": (WHOLE, float), "step": (WHOLE, float), "seed": range(2**64)}
        take(facts, "the active learner", **kinds | {"random_state": (int, NoneType)})
        K, n_open = facts["n_labels"], facts["n_open"]
        if n_open > facts["open_questions"] or len(facts["names"]) != n_open:
            raise ValueError("more questions are open than may be, or have names")
        return {
            "asked": ("<f8", (facts["n_asked"], HEAD + 2 + K)),
            "open": ("<f8", (n_open, HEAD + SPENDING + 2 * K + facts["n_features"])),
            "expired": ("<i8", (facts["n_expired"],)),
            "state": ("<f8", (SPENDING,)),
        }

    @staticmethod
    def check_state(facts: Facts, arrays: Arrays) -> None:
        """Refuse values that no active learner can have; features may be missing."""
        asked, opened, expired = arrays["asked"], arrays["open"], arrays["expired"]
        known = opened[:, : opened.shape[1] - facts["n_features"]]
        check_numbers({"asked": asked, "open": known, "state": arrays["state"]})
        for part in (asked[:, 0], opened[:, 0], expired):
            check_all(np.diff(part) > 0, "the rows of questions are out of order")
            check_all(np.isin(part, asked[:, 0]), "a question waits or expired that was not asked")
        check_all(~np.isin(opened[:, 0], expired), "a question is open and expired")
        for bits in (asked[:, 1], opened[:, 1]):
            good = (bits > 0) & (bits < 2 ** len(facts["criteria"])) & (bits % 1 == 0)
            check_all(good, "a question has unknown reasons")

    @staticmethod
    def from_state(facts: Facts, arrays: Arrays) -> ActiveLearner:
        """Build an active learner from what :meth:`state` returned."""
        active, K = ActiveLearner(**{name: facts[name] for name in OPTIONS}), facts["n_labels"]
        active.seed, active.state = facts["seed"], spending(arrays["state"])
        active._expired.update(arrays["expired"].tolist())

        def head(line: Floats) -> tuple[int, tuple[str, ...], dict[str, float]]:
            bits = int(line[1])
            fired = {word for i, word in enumerate(active.criteria) if bits >> i & 1}
            thresholds = dict(zip(ADAPTED, line[2:HEAD].tolist(), strict=True))
            return int(line[0]), tuple(word for word in CRITERIA if word in fired), thresholds

        for line in arrays["asked"]:
            row, reasons, thresholds = head(line)
            spent, share = int(line[HEAD]), float(line[HEAD + 1])
            labels = line[HEAD + 2 :] == 1.0
            active._log.append(Query(row, reasons, labels, thresholds, spent, share))
        cuts = np.cumsum([HEAD, SPENDING, K, K])
        for line, names in zip(arrays["open"], facts["names"], strict=True):
            row, reasons, thresholds = head(line)
            _, after, wanted, scores, x = (part.copy() for part in np.split(line, cuts))
            labels = wanted == 1.0
            labels.flags.writeable = scores.flags.writeable = False
            why = reasons, thresholds, scores
            active._open[row] = Question(
                row, tuple(names), labels, *why, x[None], spending(after), active.asker
            )
        return active


def spending(values: Floats) -> Spending:
    """Return the state of an active learner from one line of numbers."""
    rows, room, spent, *rest = values.tolist()
    return Spending(int(rows), int(room), int(spent), *rest)
