"""How fast a model should forget: fixed values, and whatever else, on all streams and real sets.

``python experiments/decisions/following.py`` runs every variant on every built-in stream (three
seeds) and on the published splits, in file order and with the stream part shuffled three times,
test-then-train, and prints a table; the best fixed value of a line is marked. Records are appended
to ``experiments/results/decisions/following.jsonl``, and what is there is not run again. Whole
streams are scored here: this shows what there is to gain and must not choose a number.

``--only STREAM ...`` and ``--variants NAME ...`` run a part. A variant is ``default`` or a setting
such as ``forgetting=0.99``; several settings in one variant are parted by spaces. ``--tag NAME``
keeps the runs of another method beside those that are there, under the names ``variant (NAME)``.
``--table FILE`` writes the table after every stream as well.
"""

import argparse
from functools import partial
from pathlib import Path

import numpy as np
from inside import read, run_missing

from efcml import EFCMLClassifier, datasets
from efcml.cli.shared import parameter_names, read_setting
from efcml.datasets.streams import GENERATORS
from efcml.studies.provenance import method
from efcml_paper.scale import LARGE, SETS

OUT = Path(__file__).parents[1] / "results" / "decisions" / "following.jsonl"
DEFAULT = "default"
FIXED = tuple(f"forgetting={value:g}" for value in (1, 0.998, 0.995, 0.99, 0.98, 0.97, 0.95))
SHUFFLED = ", shuffled"  # follows the name of a set
SEEDS = (
    dict.fromkeys(GENERATORS, (1, 2, 3))
    | dict.fromkeys((*SETS, LARGE), (None,))
    | {name + SHUFFLED: (1, 2, 3) for name in (*SETS, LARGE)}
)
MOST_ROWS = 10_000  # of a stream; only the large set has more


def read_variant(text):
    """Return the parameters that a variant sets."""
    words = [] if text == DEFAULT else text.split()
    return dict(read_setting(word, parameter_names("efcml")) for word in words)


def load(name, seed):
    """Return a data set, no longer than a run may be; the initial part is never shuffled."""
    drawn = {"seed": seed} if name in GENERATORS else {}
    ds = datasets.load(name.removesuffix(SHUFFLED), **drawn)
    first, rest = np.split(np.arange(len(ds)), [ds.n_initial])
    if name.endswith(SHUFFLED):
        rest = np.random.default_rng(seed).permutation(rest)
    rows = np.concatenate([first, rest[:MOST_ROWS]])
    return datasets.from_arrays(ds.X[rows], ds.Y[rows], n_initial=ds.n_initial)


def name_line(variant, tag):
    """Return what the table calls a variant."""
    return f"{variant} ({tag})" if tag else variant


def run_draws(stream, variant, tag, out):
    """Run a variant on all draws of a stream of which there is no record; append the records."""
    parameters = read_variant(variant)
    key = {"stream": stream, "variant": variant, "tag": tag, "parameters": parameters}
    draws = {f"{stream}, {seed}": seed for seed in SEEDS[stream]}
    keys = {(name, variant): key | {"seed": seed} for name, seed in draws.items()}
    data = {name: partial(load, stream, seed) for name, seed in draws.items()}
    run_missing(out, keys, {variant: EFCMLClassifier(**parameters)}, data)


def means(records):
    """Return {stream: {variant: (PA, AP)}}, means over the draws, where all draws are there."""
    table = {}
    for stream, seeds in SEEDS.items():
        here = [r for r in records if r["stream"] == stream]
        for line in dict.fromkeys(name_line(r["variant"], r["tag"]) for r in here):
            runs = [r for r in here if name_line(r["variant"], r["tag"]) == line]
            if {r["seed"] for r in runs} == set(seeds):
                found = np.mean([[r["pa"], r["ap"]] for r in runs], axis=0)
                table.setdefault(stream, {})[line] = tuple(found)
    return table


def as_table(records):
    """Return the table: a line per stream, a column per variant, the best fixed ones marked."""
    table = means(records)
    found = dict.fromkeys(line for row in table.values() for line in row)
    columns = sorted(found, key=lambda line: FIXED.index(line) if line in FIXED else -1)
    lines = [f"| PA / AP | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for stream, row in table.items():
        fixed = [row[line] for line in row if line in FIXED]
        best = np.max(fixed, axis=0) if fixed else (np.inf, np.inf)
        cells = [as_cell(row[line], best, line in FIXED) if line in row else "" for line in columns]
        lines.append(f"| {stream} | {' | '.join(cells)} |")
    return "\n".join(lines)


def as_cell(values, best, may_be_marked):
    """Return PA / AP, each with a star if it is the best of the fixed values."""
    stars = ["*" if may_be_marked and values[i] == best[i] else "" for i in range(2)]
    return " / ".join(f"{value:.4f}{star}" for value, star in zip(values, stars, strict=True))


def warn_of_older(records):
    """Say which records were made by another method than that of today."""
    older = [r for r in records if r["method"] != method()]
    if older:
        lines = dict.fromkeys(name_line(r["variant"], r["tag"]) for r in older)
        print(f"Made by another method than that of today, {method()}: {', '.join(lines)}.")


def main(arguments=None, out=OUT):
    parser = argparse.ArgumentParser(description="Run variants of forgetting on all streams.")
    parser.add_argument("--only", nargs="+", choices=SEEDS, default=list(SEEDS), metavar="STREAM")
    parser.add_argument("--variants", nargs="+", default=[DEFAULT, *FIXED], metavar="NAME")
    parser.add_argument("--tag", default="", metavar="NAME", help="record the runs as NAME")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the table there too")
    given = parser.parse_args(arguments)
    for variant in given.variants:
        read_variant(variant)  # a wrong one is refused before anything is run
    for stream in given.only:
        for variant in given.variants:
            run_draws(stream, variant, given.tag, out)
        if given.table:
            given.table.write_text(as_table(read(out)) + "\n")
    print(as_table(read(out)))
    warn_of_older(read(out))


if __name__ == "__main__":
    main()
