"""Files of older formats: what models had learned to say of themselves by then.

Format 2 came with splitting, shared planes that go on learning, memories and a scale that follow a
stream, caution and time, what errors teach of the labels, held rows that answer, and kinds of
columns. A model from before is not split, takes nothing in, its shared planes and its scale stay,
its errors teach it nothing, it forgets as it was told to, and label frequencies answer in its
warm-up. What is not a parameter is as it is today: if rules count by density, they also win rows by
it, and merging goes by the dimension.

Format 3 came with counts of what each rule decided of late. In models from before they are 0 until
more rows are learned, and a reader is told what they know: their activation so far.
"""

from __future__ import annotations

import copy
from typing import Any

from efcml.support.aliases import Facts, Shapes

PARAMETERS = {
    "splitting": "off",
    "split_share": 1.0,
    "least_share": 0.0,
    "provisional": False,
    "scaling": "frozen",
    "caution": False,
    "time": False,
    "decision": "hamming",
}
LEARNER = {"shared": None, "renewal": None, "n_recent": 0, "layered": False}
KNOW_NOTHING: Facts = {"flags": [], "groups": [], "categories": []}  # of columns
COUNTS = {"splits": 0, "drifts": 0}
# New arrays by format; and in format 2 all of the recent cases.
ARRAYS = {
    2: ("trial", "drifting", "last_won", "recent_trial"),
    3: ("decided", "decided_sum", "decided_known", "decided_ones"),
}


def up_to_date(header: Facts) -> Facts:
    """Return the header of a file as this version would have written it."""
    if header["format_version"] > 1:
        return header
    header = copy.deepcopy(header)
    add_new_facts(header["content"])
    return header


def no_evidence() -> Facts:
    """Return that the rows of a warm-up have shown nothing so far."""
    from efcml.model.beginning import EVIDENCE  # not above: it loads numba

    return {"evidence": [0.0] * EVIDENCE}


def add_new_facts(facts: Any) -> None:
    """Add what is missing to facts and to all that they hold; whatever is no fact is left alone."""
    if isinstance(facts, list):
        for part in facts:
            add_new_facts(part)
    if not isinstance(facts, dict):
        return
    if "merge_overlap" in facts:
        facts |= PARAMETERS | facts
    if isinstance(facts.get("counts"), dict):
        facts["counts"] |= COUNTS | facts["counts"]
        facts |= (
            LEARNER
            | no_evidence()
            | {"split_share": None if facts.get("rules") is None else 1.0}
            | facts
        )
    if {"classes", "label_names", "learner"} <= facts.keys():
        facts.setdefault("columns", KNOW_NOTHING)
    for part in facts.values():
        add_new_facts(part)


def arrays_of(header: Facts, table: Shapes) -> Shapes:
    """Return those of today's arrays that a file of the header's format has; the others are 0."""
    version = header["format_version"]
    later = {name for since, names in ARRAYS.items() if since > version for name in names}
    return {
        name: entry
        for name, entry in table.items()
        if name.rpartition("/")[2] not in later and (version > 1 or "recent" not in name.split("/"))
    }
