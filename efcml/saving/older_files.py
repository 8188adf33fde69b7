"""Files of format 1: what models had learned to say of themselves by then, and what it means.

Format 2 came with splitting, shared planes that go on learning, kinds of columns, and a scale that
follows. A model from before is not split, takes nothing in, and its shared planes and its scale
stay. What is not a parameter is as it
is today: if rules count by density, they also win rows by it, and merging goes by the dimension.
"""

from __future__ import annotations

import copy
from typing import Any

from efcml.saving.column_facts import know_nothing
from efcml.support.aliases import Facts

PARAMETERS = {"splitting": "off", "split_share": 1.0, "least_share": 0.0, "scaling": "frozen"}
LEARNER = {"shared": None, "renewal": None}


def up_to_date(header: Facts) -> Facts:
    """Return the header of a file as this version would have written it."""
    if header["format_version"] > 1:
        return header
    header = copy.deepcopy(header)
    add_new_facts(header["content"])
    return header


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
        facts["counts"].setdefault("splits", 0)
        facts |= LEARNER | {"split_share": None if facts.get("rules") is None else 1.0} | facts
    if {"classes", "label_names", "learner"} <= facts.keys():
        facts.setdefault("columns", know_nothing())
    for part in facts.values():
        add_new_facts(part)
