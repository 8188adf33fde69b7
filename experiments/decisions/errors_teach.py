"""What caution and time give, each switched off in turn; by the published splits, in file order.

``python experiments/decisions/errors_teach.py`` runs the default, and the default without one or
both, on the four small sets and the whole stream of the large one, test-then-train, and prints a
table: PA / AP, and in brackets what is lost without, with an interval over blocks of samples.
Records are appended to ``experiments/results/decisions/errors-teach.jsonl``, and what is there is
not run again. Nothing is chosen here; that was done inside the initial parts.

``--delay N`` runs the same with labels that come N rows late; ``--only SET ...`` a part.
"""

import argparse
from functools import partial
from pathlib import Path

from inside import read, run_missing

from efcml import EFCMLClassifier, datasets
from efcml.measures import average_precision_rows, partial_accuracy_rows
from efcml.studies.intervals import interval_of
from efcml_paper.scale import LARGE, SETS

OUT = Path(__file__).parents[1] / "results" / "decisions" / "errors-teach.jsonl"
VARIANTS = {
    "default": {},
    "without time": {"time": False},
    "without caution": {"caution": False},
    "without both": {"caution": False, "time": False},
}
BLOCK = 20  # rows that are drawn together: neighbours are alike


def rows_of(result):
    """Return PA and AP of every row."""
    found = (result.scores >= 0.5).astype(float)
    return partial_accuracy_rows(result.Y, found), average_precision_rows(result.Y, result.scores)


def gains(study, name, variant):
    """Return the differences of the default to a variant."""
    default, own = (rows_of(study.result(model, name)) for model in ("default", variant))
    line = {}
    for measure, first, second in zip(("pa", "ap"), default, own, strict=True):
        found = interval_of(first - second, block=BLOCK)
        line[f"{measure}_gain"] = [found.mean, found.low, found.high]
    return line


def as_cell(record):
    """Return PA / AP, and what the default has more, in thousandths."""
    cell = f"{record['pa']:.4f} / {record['ap']:.4f}"
    if record["variant"] == "default":
        return cell
    gains = (
        "{:+.1f} [{:+.1f}, {:+.1f}]".format(*(1e3 * value for value in record[f"{measure}_gain"]))
        for measure in ("pa", "ap")
    )
    return f"{cell} ({', '.join(gains)})"


def as_table(records, delay=0):
    """Return the table of all sets of which there are records."""
    lines = [f"| set | {' | '.join(VARIANTS)} |", "|---" * (len(VARIANTS) + 1) + "|"]
    for name in (*SETS, LARGE):
        here = [r for r in records if r["set"] == name and r["delay"] == delay]
        if here:
            cells = {r["variant"]: as_cell(r) for r in here}
            lines.append(f"| {name} | {' | '.join(cells[variant] for variant in VARIANTS)} |")
    return "\n".join(lines)


def main(arguments=None, out=OUT):
    parser = argparse.ArgumentParser(description="Switch off caution and time, one by one.")
    names = (*SETS, LARGE)
    parser.add_argument("--only", nargs="+", choices=names, default=list(names), metavar="SET")
    parser.add_argument("--delay", type=int, default=0, metavar="N", help="labels come N rows late")
    given = parser.parse_args(arguments)
    models = {variant: EFCMLClassifier(**parameters) for variant, parameters in VARIANTS.items()}
    for name in given.only:
        facts = {"set": name, "delay": given.delay}
        keys = {
            (name, variant): facts | {"variant": variant, "parameters": parameters}
            for variant, parameters in VARIANTS.items()
        }
        data = {name: partial(datasets.load, name)}
        run_missing(out, keys, models, data, more=gains, delay=given.delay)
    print(as_table(read(out), given.delay))


if __name__ == "__main__":
    main()
