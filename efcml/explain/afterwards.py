"""What is added to a score after rules and cases: recent cases, trust and time."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from efcml.explain.phrases import signed
from efcml.kernels.memory import recent_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from efcml.model.learner import Learner
    from efcml.support.aliases import Floats

    Addends: TypeAlias = dict[str, Floats]

RECENT = "recent cases"
LEAST_TOLD = 0.005  # of a score; less is not worth a sentence


def find_addends(learner: Learner, scaled: Floats, said: Floats) -> Addends:
    """Return what is added to what rules and cases ``said`` (K,) of a scaled row, by name.

    What adds nothing to any label is left out.
    """
    recent = learner.recent.similar_to(scaled)[0].sum(axis=0) * recent_share(learner.recent_trial)
    found = {RECENT: recent}
    if learner.sequel.is_on:
        found |= learner.sequel.addends(said + recent)
    return {name: added for name, added in found.items() if added.any()}


def tell_addends(learned: Addends, label_names: Sequence[str]) -> list[str]:
    """Return one sentence for each addend that moves a label: which one most, and by how much."""
    told = []
    for name, added in learned.items():
        largest = int(np.abs(added).argmax())
        if abs(added[largest]) >= LEAST_TOLD:
            told.append(f"{name} move {label_names[largest]} most, by {signed(added[largest])}")
    return told
