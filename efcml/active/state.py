"""The members by which an active learner is saved, as learners have them (efcml/saving.py)."""

from __future__ import annotations

import json
from dataclasses import asdict
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.active.active_learner import ActiveLearner
from efcml.active.criteria import ADAPTED
from efcml.active.questions import Query, Question, Spending
from efcml.support.states import WHOLE, check_all, take, to_plain

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Facts, Shapes, State

REAL = (WHOLE, float)
OPTIONS = {
    **dict.fromkeys(("unit", "instability", "adaptation"), str),
    **dict.fromkeys(("budget", "step"), REAL),
    **dict.fromkeys(("window", "open_questions"), WHOLE),
    **{"criteria": list, "random_state": (int, NoneType)},
}
SPENDING: Facts = {"rows": WHOLE, "room": WHOLE, "spent": WHOLE, "recent": REAL}
SPENDING |= dict.fromkeys(ADAPTED, REAL)
ASKED = {"row": WHOLE, "reasons": list, "labels": list, "thresholds": dict}
QUERY = ASKED | {"spent": WHOLE, "share": REAL}
QUESTION = ASKED | {"names": list, "scores": list, "x": list, "after": dict, "asker": NoneType}
ARRAYS = {"labels": bool, "scores": np.float64, "x": np.float64}


class ActiveState:
    """Options are facts; what happened is JSON as bytes, of any length: it may be a long story."""

    @staticmethod
    def state(active: ActiveLearner) -> State:
        """Return facts and arrays of an active learner."""

        def plain(one: dict[str, Any]) -> Facts:
            return {name: one[name].tolist() if name in ARRAYS else one[name] for name in one}

        waiting = [vars(q) | {"after": asdict(q.after), "asker": None} for q in active.waiting]
        story = {
            "state": asdict(active.state),
            "expired": sorted(active._expired),
            "log": [plain(query._asdict()) for query in active.log],
            "waiting": [plain(one) for one in waiting],
        }
        text = np.frombuffer(json.dumps(story).encode(), np.uint8)
        facts: Facts = {name: to_plain(getattr(active, name)) for name in OPTIONS}
        facts |= {"criteria": [*active.criteria], "seed": active.seed, "length": len(text)}
        return facts, {"story": text}

    @staticmethod
    def state_shapes(facts: Facts) -> Shapes:
        """Return type and shape of every array of a state with these facts, or refuse them."""
        take(facts, "the active learner", **OPTIONS, seed=range(2**64), length=WHOLE)
        return {"story": ("|u1", (facts["length"],))}

    @staticmethod
    def check_state(facts: Facts, arrays: Arrays) -> None:
        """Refuse what no active learner can have been through."""
        active = ActiveState.from_state(facts, arrays)
        check_all(len(active.open) <= active.open_questions, "more questions are open than may be")
        asked, rest = [query.row for query in active.log], {*active.open} | active._expired
        check_all(np.diff(asked) > 0, "the rows of questions are out of order")
        check_all(rest <= {*asked}, "a question waits or expired that was not asked")

    @staticmethod
    def from_state(facts: Facts, arrays: Arrays) -> ActiveLearner:
        """Build an active learner from what :meth:`state` returned."""
        story = json.loads(arrays["story"].tobytes())
        active = ActiveLearner(**{name: facts[name] for name in OPTIONS})
        active.seed = facts["seed"]
        active.state = Spending(**take(story["state"], "the active learner", **SPENDING))
        active._expired.update(story["expired"])

        def parts(one: Any, kinds: Facts) -> dict[str, Any]:
            take(one, "a question", **kinds)
            take(one["thresholds"], "a question", **dict.fromkeys(ADAPTED, REAL))
            check_all(
                [word in active.criteria for word in one["reasons"]],
                "a question has unknown reasons",
            )
            names = {*map(type, one.get("names", ()))}
            check_all(names <= {str, int}, "a question names labels by other things than words")
            arrays = {name: np.array(one[name], ARRAYS[name]) for name in ARRAYS if name in one}
            lists = {name: tuple(one[name]) for name in ("reasons", "names") if name in one}
            return one | arrays | lists

        active._log.extend(Query(**parts(query, QUERY)) for query in story["log"])
        for one in story["waiting"]:
            after = Spending(**take(one["after"], "a question", **SPENDING))
            rest = {"after": after, "asker": active._asker}
            active._open[one["row"]] = Question(**parts(one, QUESTION) | rest)
        return active
