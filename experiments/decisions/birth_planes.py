"""What a rule that is born in the stream starts with, for three sizes of the initial part.

``python experiments/decisions/birth_planes.py``. Runs inside the initial parts, in ten orders; one
results file for every share that is fitted first.
"""

from pathlib import Path

from inside import MORE_ORDERS, print_table, run_all

RESULTS = Path(__file__).parents[1] / "results" / "decisions"
SETTINGS = {"nearest": {"birth_plane": "nearest"}, "blend": {"birth_plane": "blend"}}
SHARES = (0.15, 0.5, 0.75)

if __name__ == "__main__":
    for share in SHARES:
        out = RESULTS / f"birth-planes-{share:.0%}.jsonl".replace("%", "")
        records = run_all(SETTINGS, out, orders=MORE_ORDERS, share=share)
        print(f"{share:.0%} fitted first")
        print_table(records, SETTINGS)
