"""What the errors of labels teach of other labels, of decisions and of probabilities.

``python experiments/decisions/labels_together.py`` runs the default by the published splits, in
file order, test-then-train, on the four small sets and the whole stream of the large one, and
prints tables:

- the penalty of the paper, ``correlation="shift"``, against ``"none"``;
- a random half of the labels of a row given the other half, against not given;
- ``decision="subset"`` and ``decision="f1"`` against ``"hamming"``;
- probabilities against the scores with bent ends, which they were before: calibration error, the
  same of labels that are drawn from the probabilities, log loss and Brier score.

Differences are paired, with 95 % intervals over blocks of samples. A record for each set is
appended to ``experiments/results/decisions/labels-together.jsonl``, and what is there is not run
again; ``--only SET ...`` runs a part. Nothing is chosen here.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from answered_rows import HIDDEN, answer_stream, random_halves
from inside import append, read

import efcml
from efcml import EFCMLClassifier, datasets, prequential
from efcml.measures import MEASURES, average_precision, calibration_error, reliability
from efcml.studies.intervals import paired_difference
from efcml.studies.provenance import method
from efcml.support.statistics import squash
from efcml_paper.scale import LARGE, SETS

OUT = Path(__file__).parents[1] / "results" / "decisions" / "labels-together.jsonl"
PARAMETERS = {}  # the default
MASKS, SEED = 4, 2022  # halves that are drawn of every row
DRAWS = 20  # of labels from probabilities
BLOCK = 20  # rows that are drawn together: neighbours are alike
DECIDED = ("pa", "subset_accuracy", "example_f1", "micro_f1", "macro_f1")
LIKELY = ("calibration_error", "log_loss", "brier_score")


def tallies(measure, Y, predicted):
    """Return what every row adds to a measure, (M, n, 2, L), of M tables of labels and answers."""
    found = MEASURES[measure]
    pairs = zip(Y, predicted, strict=True)
    return np.stack([found.tallies(labels, answers, ready=True) for labels, answers in pairs])


def compare(measure, Y, before, after):
    """Return a measure before and after, and the difference with its interval."""
    Y, before, after = (part if part.ndim == 3 else part[None] for part in (Y, before, after))
    value_of = MEASURES[measure].value_of
    first, second = tallies(measure, Y, before), tallies(measure, Y, after)
    found = paired_difference(first, second, value_of, block=BLOCK)
    values = [float(value_of(part.sum(axis=1)).mean()) for part in (first, second)]
    return {
        "before": values[0],
        "after": values[1],
        "gain": list(found),
    }


def drawn_error(Y, probabilities, seed=SEED):
    """Return the calibration error of labels drawn from the probabilities, mean of the draws."""
    rng = np.random.default_rng([seed, DRAWS])  # not the numbers by which halves were told
    drawn = (rng.random(probabilities.shape) < probabilities for _ in range(DRAWS))
    unknown = np.isnan(Y)
    errors = [
        calibration_error(np.where(unknown, HIDDEN, labels), probabilities) for labels in drawn
    ]
    return float(np.mean(errors))


def given_half(found):
    """Return PA, log loss, Brier score and calibration of the half that was not told."""
    Y = np.where(found.told, HIDDEN, found.Y)
    before = np.broadcast_to(found.decisions["hamming"], Y.shape)
    record = {"pa": compare("pa", Y, before, found.told_decisions)}
    before, after = np.broadcast_to(found.probabilities, Y.shape), found.told_probabilities
    record |= {name: compare(name, Y, before, after) for name in LIKELY}
    for when, answers in (("before", before), ("after", after)):
        pairs = zip(Y, answers, strict=True)
        drawn = [drawn_error(labels, likely) for labels, likely in pairs]
        record["calibration_error"][f"drawn_{when}"] = float(np.mean(drawn))
    return record


def of_penalty(ds, found):
    """Return PA and AP without the penalty of the paper on correlated labels, and with it."""
    model = EFCMLClassifier(**PARAMETERS, correlation="none").fit(*ds.initial)
    result = prequential(model, *ds.stream)
    before, after = result.decisions, found.decisions["hamming"]
    return {
        "pa": compare("pa", found.Y, before, after),
        "ap": compare("ap", found.Y, result.scores, found.scores),
    }


def by_decision(found):
    """Return every measure of decisions by ``"hamming"``, and by the others."""
    before = found.decisions["hamming"]
    return {
        name: {measure: compare(measure, found.Y, before, after) for measure in DECIDED}
        for name, after in found.decisions.items()
        if name != "hamming"
    }


def of_probabilities(found):
    """Return measures of the bent scores and of the probabilities, and both pictures."""
    before, after = squash(found.scores), found.probabilities
    record = {measure: compare(measure, found.Y, before, after) for measure in LIKELY}
    for when, answers in (("before", before), ("after", after)):
        record["calibration_error"][f"drawn_{when}"] = drawn_error(found.Y, answers)
        table = np.nan_to_num(reliability(found.Y, answers), nan=-1.0)  # JSON has no NaN
        record[f"reliability_{when}"] = table.tolist()
    return record


def run_set(name):
    """Return the record of a set."""
    ds = datasets.load(name)
    X, Y = (np.ascontiguousarray(part, dtype=float) for part in ds.stream)
    begin = time.perf_counter()
    learner = EFCMLClassifier(**PARAMETERS).fit(*ds.initial).learner_
    found = answer_stream(learner, X, Y, random_halves(*Y.shape, MASKS, SEED))
    return {
        "set": name,
        "order": "file",
        "parameters": PARAMETERS,
        "version": efcml.__version__,
        "method": method(),
        "rows": len(Y),
        "labels": Y.shape[1],
        "masks": MASKS,
        "seed": SEED,
        "block": BLOCK,
        "rules": found.rules,
        "pa": float((found.decisions["hamming"] == found.Y).mean()),
        "ap": average_precision(found.Y, found.scores),
        "share": found.share,
        "penalty": of_penalty(ds, found),
        "given_half": given_half(found),
        "decisions": by_decision(found),
        "probabilities": of_probabilities(found),
        "seconds": time.perf_counter() - begin,
    }


def as_cell(line):
    """Return before -> after, and the difference in thousandths with its interval."""
    gain = "{:+.1f} [{:+.1f}, {:+.1f}]".format(*(1e3 * value for value in line["gain"]))
    return f"{line['before']:.4f} -> {line['after']:.4f} ({gain})"


def as_table(records, part):
    """Return a table of a part of the records: a line for each set, a column for each measure."""
    lines = []
    for record in records:
        here = record
        for key in part:
            here = here[key]
        cells = {name: as_cell(line) for name, line in here.items() if isinstance(line, dict)}
        if not lines:
            lines = [f"| set | {' | '.join(cells)} |", "|---" * (len(cells) + 1) + "|"]
        lines.append(f"| {record['set']} | {' | '.join(cells.values())} |")
    return "\n".join(lines)


PARTS = {
    "penalty": ("penalty",),
    "half given half": ("given_half",),
    'decision="subset"': ("decisions", "subset"),
    'decision="f1"': ("decisions", "f1"),
    "probabilities": ("probabilities",),
}


def main(arguments=None, out=OUT):
    parser = argparse.ArgumentParser(description="Measure what labels tell of other labels.")
    names = (*SETS, LARGE)
    parser.add_argument("--only", nargs="+", choices=names, default=list(names), metavar="SET")
    for name in parser.parse_args(arguments).only:
        if name not in {record["set"] for record in read(out)}:
            append(out, [run_set(name)])
    records = read(out)
    for title, part in PARTS.items():
        print(f"{title}\n\n{as_table(records, part)}\n")


if __name__ == "__main__":
    main()
