"""Proximal steps with every row or seldom, inside the initial parts (decision 15).

``python experiments/decisions/lazy_steps.py``. Rules alone, with penalties up to far beyond the
defaults, and the activation that a rule gathers between two corrections. The record is
``experiments/results/decisions/lazy-steps.jsonl``; a second call only adds what is missing.
"""

from pathlib import Path

from inside import ORDERS, print_table, run_all

STRENGTHS = {
    "default": {},
    "beta 1": {"beta": 1.0},
    "beta 10": {"beta": 10.0},
    "alpha .05": {"alpha": 0.05},
    "alpha .5, beta 1": {"alpha": 0.5, "beta": 1.0},
    "no correction": {"correlation": "none"},
}
INTERVALS = (0.0, 0.3, 1.0, 3.0)
SETTINGS = {
    f"{name}, every {interval:g}": {"cases": 0, "prior": 10.0, "step_interval": interval} | strength
    for name, strength in STRENGTHS.items()
    for interval in (INTERVALS if name != "no correction" else (0.0,))
}

if __name__ == "__main__":
    out = Path(__file__).parents[1] / "results" / "decisions" / "lazy-steps.jsonl"
    print_table(run_all(SETTINGS, out, ORDERS), SETTINGS)
