"""Write the generated tables of README.md and docs/; ``--check`` only compares.

A table stands between ``<!-- name:begin -->`` and ``<!-- name:end -->``. What is outside is text
and stays as it is.
"""

import argparse
import json
import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "experiments/results"
SETS = ("emotions", "birds", "water-quality", "yeast")
LIBRARIES = ("river", "scikit-learn", "MOA", "label frequencies", "labels of the row before")


def as_table(header, rows):
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


# Records


def read(name):
    """Return a record: how it was made, and its lines."""
    record = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return record["made"], record["lines"]


def read_study(name):
    """Return the lines of a study by model and data set, its models, and its data sets."""
    _, lines = read(name)
    found = {(line["model"], line["data"]): line for line in lines}
    return found, *(list(dict.fromkeys(line[key] for line in lines)) for key in ("model", "data"))


def number(value):
    """Return a score with three decimals, without its zero."""
    return f"{value:.3f}".removeprefix("0")


def pair(line):
    """Return PA and AP of a line."""
    return f"{number(line['pa'])} / {number(line['ap'])}"


def change(gains):
    """Return mean differences in points; in bold if there is one and its interval is off 0."""
    words = []
    for name in ("pa", "ap"):
        value = 100.0 * sum(gain[name][0] for gain in gains) / len(gains)
        _, low, high = gains[0][name]
        sure = len(gains) == 1 and low * high > 0.0
        words.append(f"**{value:+.1f}**" if sure else f"{value:+.1f}")
    return " / ".join(words)


def results_table():
    """Return what the default reaches on the published sets, and of when all records are."""
    made, lines = read("published")
    header = ["data set", "features, labels", "rows: first, then", "PA", "AP", "rules", "ms a row"]
    rows = [
        [
            one["set"],
            f"{one['features']}, {one['labels']}",
            f"{one['initial']}, {one['rows']}",
            number(one["pa"]),
            number(one["ap"]),
            one["rules"],
            f"{one['ms']:.2g}",
        ]
        for one in lines
    ]
    return f"{as_table(header, rows)}\n\nMade on {made['date']}, method {made['method']}."


def peers_table(wanted):
    """Return PA / AP of other models: the best PA of each library, or all and from elsewhere."""
    scores = {}
    for line in read("peers")[1]:
        scores.setdefault(line["model"], {})[line["data"]] = line
    scores.pop("efcml", None)
    rows = {"efcml": {line["set"]: line for line in read("published")[1]}}
    if wanted == "best":
        for library in LIBRARIES:
            own = [name for name in scores if name.startswith(library)]
            rows[library] = {
                name: max((scores[model][name] for model in own), key=lambda one: one["pa"])
                for name in (SETS if own else ())
            }
    else:
        elsewhere = json.loads((RESULTS / "elsewhere/peers.json").read_text(encoding="utf-8"))
        streams = elsewhere["streams"]
        titles = streams["groups"]["self-adjusting memory"]
        rows |= scores | {f"{title}, elsewhere": streams["initial"][title] for title in titles}

    def cell(title, line):
        what = line.get("model", title).removeprefix(title).strip(", ")
        return f"{pair(line)} ({what})" if what else pair(line)

    lines = [
        [title, *(cell(title, own[name]) if name in own else "" for name in SETS)]
        for title, own in rows.items()
        if own
    ]
    return as_table(["PA / AP", *SETS], lines)


def source_part():
    """Return where the figures that were measured elsewhere come from."""
    elsewhere = json.loads((RESULTS / "elsewhere/peers.json").read_text(encoding="utf-8"))
    return elsewhere["streams"]["source"]


def changes_table(name):
    """Return scores of the first model of a study, and what others change, by data set."""
    found, models, sets = read_study(name)
    groups = {data: [data] for data in sets if data in SETS}
    if streams := [data for data in sets if data not in SETS]:
        groups["drifting streams"] = streams
    rows = []
    for model in models:
        row = [model]
        for group in groups.values():
            here = [found[model, data] for data in group]
            mean = {key: sum(line[key] for line in here) / len(here) for key in ("pa", "ap")}
            gains = [line["gain"] for line in here if "gain" in line]
            row.append(change(gains) if gains else pair(mean))
        rows.append(row)
    return as_table(["PA / AP", *groups], rows)


def data_table(name):
    """Return scores of two models by data set, and what the second one changes."""
    found, (first, second), sets = read_study(name)
    rows = []
    for data in sets:
        one, other = found[first, data], found[second, data]
        rows.append([data, pair(one), pair(other), change([other["gain"]])])
    return as_table(["PA / AP", first, second, "points"], rows)


def scores_table(name):
    """Return the scores of all models by data set, where they were run."""
    found, models, sets = read_study(name)
    rows = [
        [model, *(pair(found[model, data]) if (model, data) in found else "" for data in sets)]
        for model in models
    ]
    return as_table(["PA / AP", *sets], rows)


def measures_table(name):
    """Return the means over the data sets of all measures of a study."""
    found, models, sets = read_study(name)
    measures = list(next(line["gain"] for line in found.values() if "gain" in line))
    rows = []
    for model in models:
        means = (sum(found[model, data][key] for data in sets) / len(sets) for key in measures)
        rows.append([model, *map(number, means)])
    return as_table(["", *(key.replace("_", " ") for key in measures)], rows)


def plain_table(name):
    """Return the lines of a record as they are."""
    _, lines = read(name)
    rows = [[f"{v:.3g}" if isinstance(v, float) else v for v in one.values()] for one in lines]
    return as_table(list(lines[0]), rows)


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
        "parts": partial(changes_table, "parts"),
        "relevance": partial(data_table, "relevance"),
        "gaps": partial(data_table, "gaps"),
        "units": partial(data_table, "units"),
        "budgets": partial(changes_table, "budgets"),
        "decisions": partial(measures_table, "decisions"),
        "known": partial(plain_table, "known-labels"),
        "speed": partial(plain_table, "speed"),
    },
    "docs/wide.md": {"wide": partial(scores_table, "wide")},
    "docs/paper.md": {"verdicts": partial(plain_table, "paper")},
    "docs/api.md": {"state": state_tables},
    "docs/your_own_table.md": {"published": data_set_table},
    "docs/parameters.md": {"parameters": parameter_table},
    "docs/measures.md": {
        "definitions": partial(
            measure_table,
            ("function", "definition", "better", "rows without true labels"),
            lambda one: (f"`{one.counts.__name__}`", one.meaning, one.better, one.empty),
        ),
        "scikit-learn": partial(
            measure_table, ("scikit-learn", "difference"), lambda one: SCIKIT_LEARN[one.name]
        ),
    },
}


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
            try:
                table = make()
            except FileNotFoundError as error:
                table = f"*There is no record of today, {Path(error.filename).name}.*"
            pages[file] = fill(pages[file], name, table)
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
