"""The table of docs/results/missing_features.md."""

from following_tables import read

WAYS = ("native", "mean", "iterative")
MEASURES = ("pa", "ap")


def cell(records):
    """Return PA / AP, means over the draws of gaps; nothing where there is no record."""
    if not records:
        return ""
    means = (sum(record[name] for record in records) / len(records) for name in MEASURES)
    return " / ".join(f"{mean:.4f}" for mean in means)


def missing_features_table(records=None):
    """Return PA / AP by set and by what is missing, one column for each way to deal with it."""
    records = read("missing-features.jsonl") if records is None else records
    lines = [f"| set | missing | {' | '.join(WAYS)} |", "|---" * (len(WAYS) + 2) + "|"]
    for name, pattern in dict.fromkeys((record["set"], record["pattern"]) for record in records):
        here = [r for r in records if (r["set"], r["pattern"]) == (name, pattern)]
        cells = [cell([r for r in here if r["way"] == way]) for way in WAYS]
        lines.append(f"| {name} | {pattern} | {' | '.join(cells)} |")
    return "\n".join(lines)
