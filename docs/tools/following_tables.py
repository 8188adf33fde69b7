"""Tables of docs/results/following.md: what following a stream gives, and when drift is told."""

import json
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "experiments" / "results" / "decisions"
DEFAULT, NEVER = "default", "forgetting=1"
SPANS = {"gradual_start": "gradual_end", "growth_start": "growth_end"}  # changes that take a while
TENTHS = 0.1, 0.5, 0.9
AFTER = 1000  # rows after a change in which drift is told for a reason


def read(name):
    """Return the records of a file; none before it was made."""
    path = RECORDS / name
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def means_by_variant(records):
    """Return {stream: {variant: (PA, AP)}}, means over the draws."""
    found = {}
    for one in records:
        if not one["tag"]:
            by_variant = found.setdefault(one["stream"], {})
            by_variant.setdefault(one["variant"], []).append((one["pa"], one["ap"]))
    return {
        stream: {name: np.mean(runs, axis=0) for name, runs in by_variant.items()}
        for stream, by_variant in found.items()
    }


def forgetting_table(records=None):
    """Return the default beside forgetting nothing and the best fixed value for each measure."""
    records = read("following.jsonl") if records is None else records
    lines = [
        "| stream | `forgetting=1` | best fixed, PA | best fixed, AP | default "
        "| default to the best, points |",
        "|---|---|---|---|---|---|",
    ]
    for stream, found in means_by_variant(records).items():
        fixed = {name: value for name, value in found.items() if name.startswith("forgetting=")}
        best = [max(fixed, key=lambda name, i=i: fixed[name][i]) for i in range(2)]
        cells = [f"{fixed[best[i]][i]:.4f} ({best[i].partition('=')[2]})" for i in range(2)]
        gain = [100.0 * (found[DEFAULT][i] - fixed[best[i]][i]) for i in range(2)]
        lines.append(
            f"| {stream} | {as_pair(found[NEVER])} | {' | '.join(cells)} "
            f"| {as_pair(found[DEFAULT])} | {gain[0]:+.2f} / {gain[1]:+.2f} |"
        )
    return "\n".join(lines)


def as_pair(values):
    """Return PA / AP as text."""
    return f"{values[0]:.4f} / {values[1]:.4f}"


def spans_of(changes):
    """Return the first and the last row of every change, in order."""
    ends = set(SPANS.values())
    begun = [name for name in changes if name not in ends]
    return sorted((changes[name], changes[SPANS.get(name, name)]) for name in begun)


def delays_of(spans, told, n_rows):
    """Return for each change after how many rows a first rule tells of it, None if none does.

    A change has until the next one, but no longer than AFTER rows from its end.
    """
    starts = [start for start, _ in spans] + [n_rows]
    delays = []
    for (start, end), after in zip(spans, starts[1:], strict=True):
        rows = [row for row in told if start <= row < max(start + 1, min(after, end + AFTER))]
        delays.append(min(rows) - start if rows else None)
    return delays


def is_calm(spans, n_rows):
    """Tell for every row whether nothing changes there, nor has within AFTER rows before."""
    calm = np.ones(n_rows, dtype=bool)
    for start, end in spans:
        calm[start : end + AFTER] = False
    return calm


def detection_table(records=None):
    """Return when drift was told, and how often without a reason."""
    records = read("drift-detection.jsonl") if records is None else records
    lines = [
        "| stream | changes | told | rows until told: median (a tenth below, a tenth above) "
        "| rules that told, per change | told without a reason, of calm rows |",
        "|---|---|---|---|---|---|",
    ]
    runs = [one for one in records if one["variant"] == DEFAULT]
    for stream in dict.fromkeys(one["stream"] for one in runs):
        delays, false, calm_rows, rules = [], 0, 0, 0
        for one in runs:
            if one["stream"] == stream:
                spans, told = spans_of(one["changes"]), [row for row, _ in one["drifts"]]
                delays += delays_of(spans, told, one["rows"])
                calm = is_calm(spans, one["rows"])
                false += int(calm[told].sum())
                rules += len(told) - int(calm[told].sum())
                calm_rows += int(calm.sum())
        known = [delay for delay in delays if delay is not None]
        cells = ["0", "", "", ""]
        if delays:
            when = "{1:.0f} ({0:.0f}, {2:.0f})".format(*np.quantile(known or [np.nan], TENTHS))
            cells = [len(delays), f"{len(known)} of {len(delays)}", when if known else ""]
            cells.append(f"{rules / len(delays):.1f}")
        without = f"{false} of {calm_rows:,}".replace(",", " ")
        lines.append(f"| {stream} | {' | '.join(str(cell) for cell in cells)} | {without} |")
    return "\n".join(lines)


def time_table(root=ROOT):
    """Return what the default takes for a row, and how much of it following costs."""
    path = root / "experiments" / "results" / "benchmarks" / "following_speed.json"
    lines = [
        "| data | CPU of a learned row, ms | times that with `forgetting=1` "
        '| times that with `scaling="frozen"` |',
        "|---|---|---|---|",
    ]
    for one in json.loads(path.read_text(encoding="utf-8"))["lines"]:
        ratios = [f"{one[DEFAULT] / one[name]:.2f}" for name in (NEVER, "frozen")]
        lines.append(f"| {one['data']} | {one[DEFAULT]:.3f} | {' | '.join(ratios)} |")
    return "\n".join(lines)
