"""What is seen of a learner in the phases of `drift_cycles`: what it reaches, and what it tells."""

import numpy as np
from drift_cycles import CALM, CONCEPT_PHASES, PHASES, SCALE_PHASES

PHASE_NOISE = 0.015  # of accuracy, between thirds of the cycles: labels are drawn anew
ALARM_ROWS = 10_000  # calm ones, in which one drift may be told that is none


def look_at_phase(stream, start, right, events):
    """Return what happened in a phase: accuracy where it is calm, and drifts that were told.

    ``right`` is the share of right decisions in each row.
    """
    cycle, phase = stream.place(start)
    calm = stream.is_calm(start, len(right))
    drifts = [row for row, kind, _ in events if kind == "drift"]
    return {
        "cycle": cycle,
        "phase": phase,
        "calm_pa": round(float(right[calm].mean()), 5),
        "drifts_soon": sum(not calm[row] for row in drifts),
        "drifts_late": sum(bool(calm[row]) for row in drifts),
        "first_drift": min(drifts, default=None),
    }


def summarise_phases(blocks):
    """Return for every phase what was seen in its cycles, in lists."""
    counts = np.array([[0, 0], *(block["scale_changes"] for block in blocks)])
    changes = np.diff(counts, axis=0).tolist()
    names = ("calm_pa", "frozen_pa", "drifts_soon", "drifts_late", "first_drift")
    found = {}
    for phase in PHASES:
        at = [i for i, block in enumerate(blocks) if block["phase"] == phase]
        found[phase] = {name: [blocks[i].get(name) for i in at] for name in names}
        found[phase]["scale_changes"] = [changes[i] for i in at]
    return found


def early_and_late(values):
    """Return the means of the first and of the last third of the cycles."""
    third = max(1, len(values) // 3)
    return float(np.mean(values[:third])), float(np.mean(values[-third:]))


def alarm_rows(phases, phase_rows):
    """Return how many calm rows there were, and how many drifts were told in them."""
    cycles = sum(len(seen["calm_pa"]) for seen in phases.values())
    return cycles * (1.0 - CALM) * phase_rows, sum(sum(s["drifts_late"]) for s in phases.values())


def faults_of_phases(phases, phase_rows):
    """Return what must not be, in words: falling accuracy, changes unseen, drifts that are none."""
    faults = []
    for phase, seen in phases.items():
        early, late = early_and_late(seen["calm_pa"])
        if late < early - PHASE_NOISE:
            faults.append(f"{phase}: the calm part gets worse")
        if phase in CONCEPT_PHASES and 0 in seen["drifts_soon"]:
            faults.append(f"{phase}: a drift was not told")
        first = phase == PHASES[0]  # where the stream begins nothing has changed
        if phase in SCALE_PHASES and [0, 0] in seen["scale_changes"][first:]:
            faults.append(f"{phase}: the scale has not changed")
    rows, alarms = alarm_rows(phases, phase_rows)
    if alarms > max(1.0, rows / ALARM_ROWS):
        faults.append("drifts were told where there are none")
    return faults
