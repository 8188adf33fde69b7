"""The tables of docs/results/missing_features.md."""

from statistics import mean, stdev

from following_tables import read

WAYS = ("native", "mean", "iterative")
MEASURES = ("pa", "ap")


def cell(records):
    """Return PA / AP, means over the draws of gaps; nothing where there is no record."""
    if not records:
        return ""
    return " / ".join(f"{mean(record[name] for record in records):.4f}" for name in MEASURES)


def missing_features_table(records=None):
    """Return PA / AP by set and by what is missing, one column for each way to deal with it."""
    records = read("missing-features.jsonl") if records is None else records
    lines = [f"| set | missing | {' | '.join(WAYS)} |", "|---" * (len(WAYS) + 2) + "|"]
    for name, pattern in dict.fromkeys((record["set"], record["pattern"]) for record in records):
        here = [r for r in records if (r["set"], r["pattern"]) == (name, pattern)]
        cells = [cell([r for r in here if r["way"] == way]) for way in WAYS]
        lines.append(f"| {name} | {pattern} | {' | '.join(cells)} |")
    return "\n".join(lines)


def leads(records, name, rival):
    """Return by how many points native is ahead, for each draw of gaps."""
    by_way = {
        way: {r["seed"]: 100 * r[name] for r in records if r["way"] == way}
        for way in ("native", rival)
    }
    return [by_way["native"][seed] - there for seed, there in sorted(by_way[rival].items())]


def advantage(gaps):
    """Return the mean over draws of gaps and its error."""
    error = f" ± {stdev(gaps) / len(gaps) ** 0.5:.2f}" if len(gaps) > 1 else ""
    return f"{mean(gaps):+.2f}{error}"


def missing_features_differences(records=None):
    """Return how far rules are ahead of each other way, by set and by what is missing."""
    records = read("missing-features.jsonl") if records is None else records
    heads = [f"{name.upper()} to {rival}" for rival in WAYS[1:] for name in MEASURES]
    lines = [f"| set | missing | draws | {' | '.join(heads)} |", "|---" * (len(heads) + 3) + "|"]
    found = []
    for name, pattern in dict.fromkeys((record["set"], record["pattern"]) for record in records):
        here = [r for r in records if (r["set"], r["pattern"]) == (name, pattern)]
        if pattern != "none":
            found.append([leads(here, which, rival) for rival in WAYS[1:] for which in MEASURES])
            cells = " | ".join(map(advantage, found[-1]))
            lines.append(f"| {name} | {pattern} | {len(found[-1][0])} | {cells} |")
    means = (f"{mean(map(mean, column)):+.2f}" for column in zip(*found, strict=True))
    lines.append(f"| mean |  |  | {' | '.join(means)} |")
    return "\n".join(lines)
