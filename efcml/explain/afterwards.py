"""What is added to a score after rules and cases: trust, time, and stages of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from efcml.explain.phrases import signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from efcml.model.learner import Learner
    from efcml.support.aliases import Floats

    Addends: TypeAlias = dict[str, Floats]

FURTHER = "further stages"
LEAST_TOLD = 0.005  # of a score; less is not worth a sentence
USUAL_WORDS = "{name} move {label} most, by {size}"
WORDS = {  # of addends for which the usual ones would say nothing
    "label frequencies": "the model has left the label frequencies too far of late: {label} is"
    " drawn back most, by {size}"
}


def find_addends(learner: Learner, said: Floats, score: Floats) -> Addends:
    """Return what is added to what rules and cases ``said`` (K,) of the next row, by name.

    What adds nothing to any label is left out. Stages of one's own are one addend: what is left.
    """
    from efcml.model.temporal import TemporalStage  # not above: it loads numba

    temporal = learner.stage(TemporalStage)
    found = {} if temporal is None else temporal.addends(said, learner.waiting)
    if learner.params.stages:
        found[FURTHER] = score - said - sum(found.values())
    return {name: added for name, added in found.items() if added.any()}


def tell_addends(learned: Addends, label_names: Sequence[str]) -> list[str]:
    """Return one sentence for each addend that moves a label: which one most, and by how much."""
    told = []
    for name, added in learned.items():
        largest = int(np.abs(added).argmax())
        if abs(added[largest]) >= LEAST_TOLD:
            words = WORDS.get(name, USUAL_WORDS)
            size = signed(added[largest])
            told.append(words.format(name=name, label=label_names[largest], size=size))
    return told
