"""Tables of docs/reliability.md, from the records of `make soak`."""

import json

import numpy as np

LONG_STREAMS = "experiments/results/soak/long_streams.json"
MISSING = "-"  # what a record does not say: it was not looked at then


def read_soak(file, root):
    """Return what `make soak` has written, nothing before it ran."""
    path = root / file
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def tell_yes(value, yes, no):
    """Return the word for a fact."""
    return yes if value else no


def two_kinds(changes):
    """Return how often the scale changed, by how the change was read."""
    return " / ".join(map(str, changes))


LINES = {  # in words, the figures they need, and how these are told
    "rows": (("rows",), lambda rows: f"{rows:,}".replace(",", " ")),
    "NaN or infinity in state or scores": (
        ("finite",),
        lambda is_so: tell_yes(is_so, "none", "yes"),
    ),
    "smallest eigenvalue of P": (("least_eigenvalue",), "{:.1e}".format),
    "P (G + Delta) minus I, largest entry": (("inverse_off",), "{:.1e}".format),
    "P derived anew, times": (("repairs",), str),
    "D minus the gradient at W, relative": (("gradient_off",), "{:.1e}".format),
    "joint Gaussian against marginal one and log-determinants": (
        ("gaussians_off",),
        "{:.1e}".format,
    ),
    "both memories of the same rules": (
        ("memories_agree",),
        lambda is_so: tell_yes(is_so, "yes", "no"),
    ),
    "similarities of the cases times their inverse, minus I": (("cases_off",), "{:.1e}".format),
    "smallest eigenvalue of their covariance": (("cases_least",), "{:.1e}".format),
    "rules, at most": (("most_rules",), str),
    "births / splits / merges / drops": (
        ("births", "splits", "merges", "drops"),
        lambda *counts: " / ".join(map(str, counts)),
    ),
    "drifts told": (("drifts",), str),
    "changes of scale: state re-expressed / left": (("scale_changes",), two_kinds),
    "growth of memory": (("memory_growth",), "{:.2%}".format),
    "PA in the first tenth, warm-up included": (("first_pa",), "{:.3f}".format),
    "PA in the second tenth": (("second_pa",), "{:.3f}".format),
    "PA in the last tenth": (("late_pa",), "{:.3f}".format),
    "PA of the frozen twin there": (("frozen_late_pa",), "{:.3f}".format),
    "faults": (("faults",), lambda faults: "; ".join(faults) or "none"),
}


def long_streams_table(root):
    """Return what was seen of the long streams, one column each."""
    found = read_soak(LONG_STREAMS, root)
    lines = [f"| | {' | '.join(found)} |", f"|---|{'---|' * len(found)}"]
    for words, (names, tell) in LINES.items():
        cells = [
            tell(*(one[name] for name in names)) if all(name in one for name in names) else MISSING
            for one in found.values()
        ]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join(lines)


def mean_of(values):
    """Return the mean of shares of right decisions; those that there are."""
    return f"{np.mean([value for value in values if value is not None]):.3f}"


def cycles_told(seen):
    """Return in how many cycles drift was told before the calm, and after how many rows."""
    delays = [
        row for row, told in zip(seen["first_drift"], seen["drifts_soon"], strict=True) if told
    ]
    if not delays:
        return f"0 of {len(seen['drifts_soon'])}"
    return f"{len(delays)} of {len(seen['drifts_soon'])}, after {np.median(delays):.0f} rows"


def drift_cycles_table(root):
    """Return what was seen in the phases of the stream that has every drift."""
    lines = [
        "| phase | PA in its calm half: first three cycles | last three | frozen twin, last three "
        "| cycles with a drift told in the first half, median delay | drifts told in the calm half "
        "| changes of scale: re-expressed / left |",
        "|---" * 7 + "|",
    ]
    for one in read_soak(LONG_STREAMS, root).values():
        for phase, seen in one.get("phases", {}).items():
            cells = [
                phase,
                mean_of(seen["calm_pa"][:3]),
                mean_of(seen["calm_pa"][-3:]),
                mean_of(seen["frozen_pa"][-3:]),
                cycles_told(seen),
                str(sum(seen["drifts_late"])),
                two_kinds(np.sum(seen["scale_changes"], axis=0)),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
