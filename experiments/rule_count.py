"""How many rules are worth having: vigilance and cap, inside the initial parts (decision 16).

``python experiments/rule_count.py [SHARE]``. Same sets and orders as the search for the defaults;
``SHARE`` of each initial part is fitted first, half of it unless said otherwise. The record is
``results/rule-count-SHARE.jsonl``; a second call only adds what is missing.
"""

import sys
from pathlib import Path

from inside import ORDERS, print_table, run_all

SETTINGS = {
    f"vigilance {vigilance:g}, at most {cap}": {"vigilance": vigilance, "max_rules": cap}
    for vigilance, cap in (
        (0.5, 30),
        (0.7, 20),
        (0.8, 30),
        (0.8, 20),
        (0.8, 12),
        (0.9, 20),
        (1, 20),
    )
}
SETTINGS["one rule"] = {"max_rules": 1}
for name in ("vigilance 0.5, at most 30", "vigilance 0.8, at most 20", "one rule"):
    SETTINGS[f"{name}, no cases"] = SETTINGS[name] | {"cases": 0}

if __name__ == "__main__":
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 0.5
    out = Path(__file__).parent / "results" / f"rule-count-{100 * share:.0f}.jsonl"
    print_table(run_all(SETTINGS, out, ORDERS, share), SETTINGS)
