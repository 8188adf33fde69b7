"""Tables of docs/results/peers.md, docs/comparison.md and README.md: scores beside those of peers.

Everything is made from two kinds of records: cells that experiments/benchmarks/peer_scores.py has
run, and figures that were measured elsewhere, which are marked as such.
"""

import json
from functools import partial
from pathlib import Path

from speed_tables import markdown, not_yet

ROOT = Path(__file__).resolve().parents[2]
SCORES = "experiments/results/benchmarks/peer_scores.json"
ELSEWHERE = "experiments/results/elsewhere/peers.json"
LEAK = "experiments/results/elsewhere/leak.json"
MEASURES = {
    "pa": "PA",
    "ap": "AP",
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
    "example_f1": "example F1",
    "subset_accuracy": "subset accuracy",
}
SETS = ("emotions", "birds", "water-quality", "yeast", "mediamill", "mediamill-cut")
SMALL = SETS[:4]
TITLES = {"mediamill-cut": "mediamill, its first rows only"}  # other sets have their names
OURS = "efcml"
MARK = ", elsewhere"
# The same lines, here and elsewhere: how they agree tells whether the protocols are the same.
TWICE = {"no-change": "no-change (last row's labels)", "frequencies": "label frequencies"}
COMPARED = (
    "efcml",
    "efcml-rules",
    "efcml-fourier",
    "river-logistic",
    "river-chain",
    "river-forest",
    "river-neighbours",
    "sklearn-mlp",
    "moa-forest",
    "moa-neighbours",
    "no-change",
    "frequencies",
)
LIBRARIES = {"river": "river-", "scikit-learn": "sklearn-", "MOA": "moa-"}
FAMILY = "self-adjusting memory"


def read_json(file, root=ROOT):
    """Return what a record file holds, nothing if it is not there."""
    path = root / file
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def number(value):
    """Return a score with three decimals and without its zero; nothing for None."""
    if value is None:
        return ""
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


def is_ours(name):
    """Tell whether a line is a model of this package."""
    return name.startswith(OURS)


def lines_of(dataset, protocol, root=ROOT):
    """Return {name: (title, scores)} of a set: what was run here, then what was elsewhere."""
    found = {}
    for cell in read_json(SCORES, root).values():
        if (cell["set"], cell["protocol"]) == (dataset, protocol) and "left_out" not in cell:
            found[cell["model"]] = (cell["title"], {name: cell[name] for name in MEASURES})
    streams = read_json(ELSEWHERE, root).get("streams", {})
    for title, by_set in streams.get(protocol, {}).items():
        if dataset in by_set and title not in TWICE.values():
            found[title + MARK] = (title + MARK, by_set[dataset])
    return found


def best_of(lines, measure):
    """Return the highest score of some lines, as it is shown."""
    return max((round(scores.get(measure, -1.0), 3) for _, scores in lines.values()), default=None)


def set_table(lines):
    """Return all lines of one set, the best of each column in bold."""
    best = {name: best_of(lines, name) for name in MEASURES}
    rows = []
    for name, (title, scores) in lines.items():
        cells = []
        for measure in MEASURES:
            value = scores.get(measure)
            text = number(value)
            cells.append(f"**{text}**" if text and round(value, 3) == best[measure] else text)
        rows.append([f"*{title}*" if is_ours(name) else title, *cells])
    return markdown(["model", *MEASURES.values()], rows)


def head_of(dataset, protocol, root=ROOT):
    """Return the title of a set, with its size."""
    cells = read_json(SCORES, root).values()
    cell = next(c for c in cells if (c["set"], c["protocol"]) == (dataset, protocol))
    first = f"{cell['n_initial']} rows learned first, " if cell["n_initial"] else ""
    where = TITLES.get(dataset, dataset)
    where = where if first else f"From nothing, {where}"  # no two headings are the same
    return f"### {where}: {cell['p']} features, {cell['K']} labels, {first}{cell['rows']} tested"


def left_out(dataset, protocol, root=ROOT):
    """Return which models have no score on a set, and why."""
    reasons, titles, here = {}, {}, set()
    for cell in read_json(SCORES, root).values():
        titles[cell["model"]] = cell["title"]
        if (cell["set"], cell["protocol"]) == (dataset, protocol):
            here.add(cell["model"])
            if "left_out" in cell:
                reasons.setdefault(cell["left_out"], []).append(cell["title"])
    missing = [title for name, title in titles.items() if name not in here]
    if missing:
        reasons["not run yet"] = missing
    return [f"{' · '.join(names)} ({reason})" for reason, names in reasons.items()]


def protocol_part(protocol, root=ROOT):
    """Return the tables of all sets by one protocol."""
    ran = {c["set"] for c in read_json(SCORES, root).values() if c["protocol"] == protocol}
    if not ran:
        return not_yet("peer_scores")
    parts = []
    for dataset in SETS:
        if dataset in ran:
            parts.append(head_of(dataset, protocol, root))
            parts.append(set_table(lines_of(dataset, protocol, root)))
            missing = left_out(dataset, protocol, root)
            if missing:
                parts.append(f"Left out: {'; '.join(missing)}.")
    return "\n\n".join(parts)


def behind_part(protocol, root=ROOT):
    """Return where another model is ahead of the default, by measure, most first."""
    rows, level = [], 0
    for dataset in SETS:
        lines = lines_of(dataset, protocol, root)
        if OURS not in lines:
            continue
        others = {name: line for name, line in lines.items() if not is_ours(name)}
        own = {name: line for name, line in lines.items() if is_ours(name) and name != OURS}
        for measure, title in MEASURES.items():
            here = round(lines[OURS][1][measure], 3)
            ahead = best_of(others, measure)
            if ahead is None or ahead <= here:
                level += ahead is not None
                continue
            rows.append(
                [
                    TITLES.get(dataset, dataset),
                    title,
                    number(here),
                    named(others, measure),
                    named(own, measure),
                    ahead - here,
                ]
            )
    rows.sort(key=lambda row: -row[-1])
    head = [
        "set",
        "measure",
        "efcml",
        "best of the others",
        "best of ours otherwise",
        "points behind",
    ]
    shown = [[*row[:-1], f"{100 * row[-1]:.1f}"] for row in rows]
    words = f"Behind in {len(rows)} of {len(rows) + level} cells (set and measure)."
    return f"{words}\n\n{markdown(head, shown)}" if rows else words


def named(lines, measure):
    """Return the best score of some lines with the line that has it."""
    best = best_of(lines, measure)
    if best is None:
        return ""
    titles = [t for t, scores in lines.values() if round(scores.get(measure, -1.0), 3) == best]
    return f"{number(best)} ({titles[0]})"


# -- what was measured elsewhere --------------------------------------------------------------


def source_part(name, key="source", root=ROOT):
    """Return where figures come from that no run of this repository made, or what was seen."""
    return read_json(ELSEWHERE, root)[name][key]


def differences(root=ROOT):
    """Return (set, protocol, line, measure, here, elsewhere) of all figures that exist twice."""
    streams, found = read_json(ELSEWHERE, root).get("streams", {}), []
    for protocol in ("initial", "nothing"):
        for dataset in SETS:
            lines = lines_of(dataset, protocol, root)
            for name, title in TWICE.items():
                there = streams.get(protocol, {}).get(title, {}).get(dataset, {})
                if name in lines:
                    here = lines[name][1]
                    found += [(dataset, protocol, name, m, here[m], there[m]) for m in there]
    return found


def agreement_part(root=ROOT):
    """Return how figures that were measured here and elsewhere agree."""
    found = differences(root)
    apart = [one for one in found if abs(one[4] - one[5]) > 0.00051]
    words = (
        f"Of {len(found)} such figures {len(found) - len(apart)} are the same to three decimals"
        f"{'.' if not apart else '; these are not:'}"
    )
    if not apart:
        return words
    head = ["set", "protocol", "line", "measure", "here", "elsewhere"]
    rows = [
        [dataset, protocol, name, MEASURES[measure], number(here), number(there)]
        for dataset, protocol, name, measure, here, there in apart
    ]
    return f"{words}\n\n{markdown(head, rows)}"


def leak_part(root=ROOT):
    """Return for how many rows answers changed with the labels of the row itself."""
    record = read_json(LEAK, root)
    if not record:
        return f"Not measured yet: `python experiments/benchmarks/peer_leak.py --out {LEAK}`."
    rows = []
    for one in record["java"]:
        name = one["class"].rpartition(".")[2]
        state = (
            f"repaired in {one['places_repaired']} places" if one.get("repaired") else "published"
        )
        if "failed" in one:
            rows.append([name, state, "", one["failed"], ""])
            continue
        rows.append([name, state, one["rows"], one["changed"], one["unsteady"]])
    for one in record["models"].values():
        if "failed" not in one:
            rows.append([one["title"], "", one["rows"], one["changed"], one["unsteady"]])
    head = ["model", "source", "rows", "changed with its labels", "changed without"]
    return markdown(head, rows)


# -- other pages ------------------------------------------------------------------------------


def pair(scores):
    """Return PA / AP."""
    return f"{number(scores['pa'])} / {number(scores['ap'])}"


def comparison_table(root=ROOT):
    """Return PA / AP on the small sets, initial part first; libraries run elsewhere at the end."""
    lines = {dataset: lines_of(dataset, "initial", root) for dataset in SMALL}
    rows = []
    for name in COMPARED:
        titles = [lines[dataset][name][0] for dataset in SMALL if name in lines[dataset]]
        if titles:
            cells = [pair(lines[d][name][1]) if name in lines[d] else "" for d in SMALL]
            rows.append([titles[0], *cells])
    ran = {row[0] for row in rows}
    streams = read_json(ELSEWHERE, root)
    for group in ("streams", "libraries"):
        for title, by_set in streams.get(group, {}).get("initial", {}).items():
            if title not in ran and title not in TWICE.values():
                cells = [pair(by_set[d]) if d in by_set else "" for d in SMALL]
                rows.append([title + MARK, *cells])
    return markdown(["model", *SMALL], mark_best(rows))


def mark_best(rows):
    """Put the best PA and the best AP of every column in bold."""
    table = [[cell.split(" / ") if cell else ["", ""] for cell in row[1:]] for row in rows]
    for column in range(len(rows[0]) - 1 if rows else 0):
        for i in range(2):
            best = max(row[column][i] for row in table)
            for row in table:
                if row[column][i] == best:
                    row[column][i] = f"**{best}**"
    return [
        [row[0], *(" / ".join(cell) if any(cell) else "" for cell in cells)]
        for row, cells in zip(rows, table, strict=True)
    ]


def readme_table(root=ROOT):
    """Return PA / AP of the default beside the best line of every library, by PA."""
    groups = [*LIBRARIES, f"{FAMILY} kNN{MARK}", "no change"]
    family = read_json(ELSEWHERE, root).get("streams", {}).get("groups", {}).get(FAMILY, ())
    rows = []
    for dataset in SETS[:5]:
        lines = lines_of(dataset, "initial", root)
        if OURS not in lines:
            continue
        cells = [pair(lines[OURS][1])]
        for start in LIBRARIES.values():
            cells.append(best_pair({n: line for n, line in lines.items() if n.startswith(start)}))
        cells.append(best_pair({n: lines[n] for n in (t + MARK for t in family) if n in lines}))
        cells.append(pair(lines["no-change"][1]) if "no-change" in lines else "")
        rows.append([dataset, *cells])
    return markdown(["PA / AP", OURS, *groups], rows) if rows else not_yet("peer_scores")


def best_pair(lines):
    """Return PA / AP of the line with the highest PA, and which it is; nothing of no lines."""
    if not lines:
        return ""
    title, scores = max(lines.values(), key=lambda line: line[1]["pa"])
    library, _, model = title.partition(", ")
    short = model.replace(" per label", "") if library in LIBRARIES else title.removesuffix(MARK)
    return f"{pair(scores)} ({short})"


def versions_part(root=ROOT):
    """Return the versions of all libraries that were run here."""
    found = set()
    for cell in read_json(SCORES, root).values():
        found |= set(cell.get("versions", {}).items())
    return f"Versions: {', '.join(' '.join(one) for one in sorted(found))}."


PARTS = {
    "peers-behind": partial(behind_part, "initial"),
    "peers-behind-nothing": partial(behind_part, "nothing"),
    "peers-initial": partial(protocol_part, "initial"),
    "peers-nothing": partial(protocol_part, "nothing"),
    "peers-source": partial(source_part, "streams"),
    "peers-agreement": agreement_part,
    "peers-leak": leak_part,
    "peers-leak-elsewhere": partial(source_part, "streams", "leak"),
    "peers-versions": versions_part,
}
COMPARISON_PARTS = {
    "scores": comparison_table,
    "libraries-source": partial(source_part, "libraries"),
}
