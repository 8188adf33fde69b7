"""What each part of the method gives: on and off, paired, inside the initial parts only.

``python experiments/decisions/parts.py``. Same sets, orders and split as the search for the
defaults; every line differs from the default in one thing. The record is
``experiments/results/decisions/parts.jsonl``. The interval is over the sixteen paired runs (four
sets, four orders), whose rows overlap: it is a rough guide, not a test.
"""

from pathlib import Path

import numpy as np
from inside import averages, print_table, run_all

RESULTS = Path(__file__).parents[1] / "results" / "decisions" / "parts.jsonl"
PAGE = Path(__file__).parents[2] / "docs" / "results" / "parts.md"

SETTINGS = {
    "default": {},
    "no correlation": {"beta": 0.0},
    "correlation x 10": {"beta": 1.0},
    "laplacian": {"correlation": "laplacian"},
    "signed": {"correlation": "signed"},
    "L1 .1": {"alpha": 0.1},
    "least squares only": {"correlation": "none"},
    "bandwidth 1 (paper)": {"bandwidth": 1.0},
    "distance alone (paper)": {"activation": "distance"},
    "no merging": {"merging": False},
    "input space": {"product_space": False},
    "no splitting": {"splitting": "off"},
    "nothing forgotten": {"forgetting": 1.0},
    "forgetting .999": {"forgetting": 0.999},
    "forgetting .995": {"forgetting": 0.995},
    "no variance floor": {"variance_floor": 0.0},
    "prior 1": {"prior": 1.0},
    "one rule": {"max_rules": 1},
    "no caution": {"caution": False},
    "no time": {"time": False},
    "no cases": {"cases": 0},
    "no cases, no correlation": {"cases": 0, "beta": 0.0},
    "no cases, one rule": {"cases": 0, "max_rules": 1},
}


def paired_differences(records, setting):
    """Return default minus the setting, PA and AP, over the paired runs."""
    of = {(r["setting"], r["set"], r["order"]): r for r in records}
    rows = [
        (of["default", name, order]["pa"] - r["pa"], of["default", name, order]["ap"] - r["ap"])
        for (key, name, order), r in of.items()
        if key == setting
    ]
    return np.array(rows)


def markdown(records):
    """Return the table of what each part gives, in points."""
    lines = [
        "| changed | PA of the default above it | AP of the default above it | rules |",
        "|---|---|---|---|",
    ]
    for setting in SETTINGS:
        gap = 100.0 * paired_differences(records, setting)
        half = 1.96 * gap.std(axis=0, ddof=1) / np.sqrt(len(gap))
        cells = [f"{m:+.2f} ± {h:.2f}" for m, h in zip(gap.mean(axis=0), half, strict=True)]
        rules = " / ".join(f"{row[2]:.0f}" for row in averages(records, setting).values())
        lines.append(f"| {setting} | {cells[0]} | {cells[1]} | {rules} |")
    return "\n".join(lines)


if __name__ == "__main__":
    records = run_all(SETTINGS, RESULTS)
    print_table(records, SETTINGS)
    print(markdown(records))
    begin, end = "<!-- parts:begin -->\n", "\n<!-- parts:end -->"
    head, rest = PAGE.read_text().split(begin)
    PAGE.write_text(head + begin + markdown(records) + end + rest.split(end)[1])
