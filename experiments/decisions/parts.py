"""What each part of the method gives: on and off, paired, inside the initial parts only.

``python experiments/decisions/parts.py``. Same sets, orders and split as the search for the
defaults; every line differs from the default in one thing. The record is
``experiments/results/decisions/parts.jsonl``.
"""

from pathlib import Path

from inside import print_table, run_all

RESULTS = Path(__file__).parents[1] / "results" / "decisions" / "parts.jsonl"

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
    "no time": {"time": False},
    "no cases": {"cases": 0},
    "no cases, no correlation": {"cases": 0, "beta": 0.0},
    "no cases, one rule": {"cases": 0, "max_rules": 1},
}


if __name__ == "__main__":
    print_table(run_all(SETTINGS, RESULTS), SETTINGS)
