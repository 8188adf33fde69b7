"""Remembered cases beside the rules, inside the initial parts (decision 14).

``python experiments/decisions/cases.py [SHARE [SETTING ...]]``. Same sets and orders as the search
for the defaults; ``SHARE`` of each initial part is fitted first. The record is
``experiments/results/decisions/cases-SHARE.jsonl``; a second call only adds what is missing.
"""

import sys
from pathlib import Path

from inside import ORDERS, print_table, run_all

CHANGES = {
    "width .15": {"case_width": 0.15},
    "width .5": {"case_width": 0.5},
    "noise .5": {"case_noise": 0.5},
    "noise 2": {"case_noise": 2.0},
    "15 rules": {"max_rules": 15},
    "8 rules": {"max_rules": 8},
    "4 rules": {"max_rules": 4},
    "1 rule": {"max_rules": 1},
    "50 rules": {"max_rules": 50},
}
SETTINGS = {
    "no cases": {"cases": 0},
    "default": {},
    "100 cases": {"cases": 100},
    "200 cases": {"cases": 200},
    "15 rules, no cases": {"max_rules": 15, "cases": 0},
    "8 rules, no cases": {"max_rules": 8, "cases": 0},
} | {f"200 cases, {name}": {"cases": 200} | change for name, change in CHANGES.items()}

if __name__ == "__main__":
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 0.5
    out = Path(__file__).parents[1] / "results" / "decisions" / f"cases-{100 * share:.0f}.jsonl"
    settings = {name: SETTINGS[name] for name in sys.argv[2:] or SETTINGS}
    print_table(run_all(settings, out, ORDERS, share), settings)
