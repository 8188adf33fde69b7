"""How many rules are worth having: vigilance and cap, inside the initial parts (decision 16).

``python experiments/decisions/rule_count.py``. Same sets and orders as the search for the defaults;
a share of each initial part is fitted first, the rest is a stream. The records are
``experiments/results/decisions/rule-count-SHARE.jsonl``; a second call only adds what is missing.
Writes the table of the decision.
"""

from pathlib import Path

from inside import ORDERS, run_all, table_by_share

RESULTS = Path(__file__).parents[1] / "results" / "decisions"
PAGE = Path(__file__).parents[2] / "docs" / "decisions" / "0016-fewer-rules.md"
SHARES = (0.15, 0.5, 0.75)
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
WITHOUT_CASES = (
    "vigilance 0.5, at most 30",
    "vigilance 0.7, at most 20",
    "vigilance 0.8, at most 20",
    "one rule",
)
SETTINGS |= {f"{name}, no cases": SETTINGS[name] | {"cases": 0} for name in WITHOUT_CASES}


if __name__ == "__main__":
    records = {
        share: run_all(SETTINGS, RESULTS / f"rule-count-{100 * share:.0f}.jsonl", ORDERS, share)
        for share in SHARES
    }
    begin, end = "<!-- rule-count:begin -->\n", "\n<!-- rule-count:end -->"
    head, rest = PAGE.read_text().split(begin)
    PAGE.write_text(head + begin + table_by_share(SETTINGS, records) + end + rest.split(end)[1])
    print(table_by_share(SETTINGS, records))
