"""Write the generated tables of README.md and docs/; ``--check`` only compares.

A table stands between ``<!-- name:begin -->`` and ``<!-- name:end -->``. What is outside is text
and stays as it is.
"""

import argparse
import json
import re
import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "experiments/results/published.jsonl"
PEERS = ROOT / "experiments/results/benchmarks/peer_scores.json"
ELSEWHERE = ROOT / "experiments/results/elsewhere/peers.json"
SETS = ("emotions", "birds", "water-quality", "yeast", "mediamill")
LIBRARIES = {"river": "river-", "scikit-learn": "sklearn-", "MOA": "moa-"}
BASELINES = {"no-change": "no change", "frequencies": "label frequencies"}
LONG, MUCH = 25, 3000  # lines, characters: longer tables are folded
TABLE = re.compile(r"^\|.*\|\n\|[ :|-]+\|(?P<lines>(?:\n\|.*\|)+)", re.M)


def as_table(header, rows):
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


# Scores


def number(value):
    """Return a score with three decimals, without its zero."""
    return "" if value is None else f"{value:.3f}".removeprefix("0")


def read_lines():
    """Return the record of each published set."""
    return [json.loads(line) for line in PUBLISHED.read_text(encoding="utf-8").splitlines()]


def results_table():
    """Return what the default reaches on the published sets, and of when that is."""
    records = read_lines()
    header = ["data set", "features, labels", "rows: first, then", "PA", "AP", "rules", "ms a row"]
    rows = [
        [
            one["set"],
            f"{one['features']}, {one['labels']}",
            f"{one['initial']}, {one['rows']}",
            number(one["pa"]),
            number(one["ap"]),
            one["rules"],
            one["ms"],
        ]
        for one in records
    ]
    made = f"Made on {records[0]['date']}, method {records[0]['method']}."
    return f"{as_table(header, rows)}\n\n{made}"


def pair(scores):
    """Return PA and AP of a line."""
    return f"{number(scores['pa'])} / {number(scores['ap'])}"


def peers_table(wanted):
    """Return PA / AP of other libraries by the first protocol: the best PA of each, or all."""
    cells = json.loads(PEERS.read_text(encoding="utf-8")).values()
    cells = [c for c in cells if c["protocol"] == "initial" and "left_out" not in c]
    streams = json.loads(ELSEWHERE.read_text(encoding="utf-8"))["streams"]
    memories = streams["groups"]["self-adjusting memory"]
    ours = {one["set"]: one for one in read_lines()}
    lines = {"efcml": {name: pair(one) for name, one in ours.items()}}
    for cell in cells if wanted == "all" else ():
        lines.setdefault(cell["title"], {})[cell["set"]] = pair(cell)
    for library, start in LIBRARIES.items() if wanted == "best" else ():
        for name in SETS:
            found = [c for c in cells if c["set"] == name and c["model"].startswith(start)]
            if found:
                best = max(found, key=lambda cell: cell["pa"])
                what = best["title"].partition(", ")[2]
                lines.setdefault(library, {})[name] = f"{pair(best)} ({what})"
    for title in memories if wanted == "all" else ():
        scores = streams["initial"][title]
        lines[f"{title}, elsewhere"] = {name: pair(scores[name]) for name in scores}
    for model, title in BASELINES.items() if wanted == "best" else ():
        lines[title] = {c["set"]: pair(c) for c in cells if c["model"] == model}
    sets = SETS if wanted == "all" else SETS[:-1]
    rows = [[title, *(found.get(name, "") for name in sets)] for title, found in lines.items()]
    return as_table(["PA / AP", *sets], rows)


def source_part():
    """Return where the figures that were measured elsewhere come from."""
    return json.loads(ELSEWHERE.read_text(encoding="utf-8"))["streams"]["source"]


# Declarations of the code


def state_tables():
    """Return the arrays of all parts of a model."""
    from efcml.model.tables import TABLES

    parts = []
    for name, table in TABLES.items():
        rows = [
            [f"`{c.name}`", " x ".join(c.dims), c.meaning.replace("|", "\\|")]
            for c in table.columns
        ]
        parts.append(f"**{name}**\n\n{as_table(['array', 'shape', 'meaning'], rows)}")
    return "\n\n".join(parts)


def parameter_table():
    """Return names, defaults, ranges, printed values and meanings of all parameters."""
    from efcml.model.params import Parameters
    from efcml.support.declared import facts_of, printed

    paper, rows = printed(Parameters), []
    for name, facts in facts_of(Parameters).items():
        meaning, values = facts.meaning.replace("``", "`"), f"`{facts.kind}`"
        if name in paper:
            values += f"; `paper()` has `{paper[name]!r}`"
        rows.append([f"`{name}`", f"`{facts.default!r}`", f"{meaning} {values}"])
    return as_table(["name", "default", "what it does, and which values are allowed"], rows)


def measure_table(header, show):
    """Return a table of all measures; ``show`` gives the cells that follow the name of one."""
    from efcml.measures import MEASURES

    rows = [
        [f"`{name}`", *(cell.replace("|", "\\|") for cell in show(measure))]
        for name, measure in MEASURES.items()
    ]
    return as_table(["name", *header], rows)


def definition_table():
    """Return what every measure is."""
    return measure_table(
        ("function", "definition", "better", "rows without true labels"),
        lambda one: (f"`{one.counts.__name__}`", one.meaning, one.better, one.empty),
    )


SCIKIT_LEARN = {  # the function, and how it differs
    "pa": ("`1 - hamming_loss`", "none"),
    "ap": (
        "`label_ranking_average_precision_score`",
        "counts rows without labels as 1: it gives `(m ap + n - m) / n`",
    ),
    "subset_accuracy": ("`accuracy_score`", "none"),
    "example_f1": (
        '`f1_score(average="samples", zero_division=1)`',
        "none; the default 0 is lower by the share of rows with nothing true and nothing predicted",
    ),
    "micro_f1": ('`f1_score(average="micro", zero_division=np.nan)`', "none"),
    "macro_f1": (
        '`f1_score(average="macro", zero_division=np.nan)`',
        "none; the default 0 gives `macro_f1` times (labels that count) / K",
    ),
    "ranking_loss": (
        "`label_ranking_loss`",
        "counts rows without a pair as 0: it gives `ranking_loss m / n`",
    ),
    "one_error": ("none", ""),
    "coverage": ("`coverage_error`", "counts rows without labels as 0: it gives `coverage m / n`"),
    "log_loss": ("`log_loss`, of all labels in one column", "none"),
    "brier_score": ("`brier_score_loss`, of all labels in one column", "none"),
    "calibration_error": ("none; `calibration_curve` has its bins", ""),
}


def scikit_learn_table():
    """Return which function of scikit-learn every measure is, and how it differs."""
    return measure_table(("scikit-learn", "difference"), lambda one: SCIKIT_LEARN[one.name])


def data_set_table():
    """Return the published sets and their sizes."""
    from efcml.datasets import CATALOG

    rows = [[f"{o.name}: {o.title}", o.n, o.n_initial, o.p, o.K] for o in CATALOG.values()]
    return as_table(["set", "rows", "initial part", "features", "labels"], rows)


TABLES = {
    "README.md": {"results": results_table, "peers": partial(peers_table, "best")},
    "docs/results.md": {
        "results": results_table,
        "peers": partial(peers_table, "all"),
        "source": source_part,
    },
    "docs/api.md": {"state": state_tables},
    "docs/your_own_table.md": {"published": data_set_table},
    "docs/parameters.md": {"parameters": parameter_table},
    "docs/measures.md": {"definitions": definition_table, "scikit-learn": scikit_learn_table},
}


def fold(text):
    """Return a text whose long tables can be folded: a line to click on."""

    def wrap(table):
        count = table["lines"].count("\n")
        if count < LONG and len(table[0]) < MUCH:
            return table[0]
        names = table[0].partition("\n")[0].strip("| ").replace(" | ", " · ")
        head = f"<details open>\n<summary>{count} lines: {names}</summary>"
        return f"{head}\n\n{table[0]}\n\n</details>"

    return TABLE.sub(wrap, text)


def fill(text, name, table):
    """Return the text with a new table between the marks of ``name``."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"{begin} and {end} must stand in the file once each")
    before, rest = text.split(begin)
    return f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"


def render(root=ROOT):
    """Return what every file with tables should hold."""
    pages = {}
    for file, tables in TABLES.items():
        pages[file] = (root / file).read_text(encoding="utf-8")
        for name, make in tables.items():
            pages[file] = fill(pages[file], name, fold(make()))
    return pages


def main(arguments=None):
    """Write the files that have changed; with ``--check`` name them and fail instead."""
    parser = argparse.ArgumentParser(description="Write the generated tables of the documentation.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if out of date")
    check = parser.parse_args(arguments).check
    old = []
    for file, text in render().items():
        path = ROOT / file
        if path.read_text(encoding="utf-8") != text:
            old.append(file)
            if not check:
                path.write_text(text, encoding="utf-8")
    if old:
        print(("out of date: " if check else "written: ") + ", ".join(old))
    return int(check and bool(old))


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "experiments")]
    sys.exit(main())
