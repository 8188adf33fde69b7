"""What errors teach of the labels if labels come late, or are few; initial parts only.

``python experiments/decisions/few_and_late_labels.py`` fits one half of the initial part of each
small set and answers the other half in all ways (`answered_rows.py`), in file order and in two
shuffles. Labels come with every row, 10 or 100 rows later, or an active learner asks for a tenth of
the rows. Kept are pairs as in `labels_together.py`: PA of a random half of the labels not told and
given the other half, subset accuracy of labels decided alone and of ``decision="subset"``, log loss
of bent scores and of probabilities. A record for each set, order and case is appended to
``experiments/results/decisions/few-and-late-labels.jsonl``, and what is there is not run again;
``--only SET ...`` runs a part. Nothing is chosen here.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from answered_rows import HIDDEN, answer_stream, random_halves
from inside import ordered_initial_part, read
from labels_together import MASKS, SEED, compare

import efcml
from efcml import ActiveLearner, EFCMLClassifier
from efcml.studies.provenance import method
from efcml.support.probability import squash
from efcml_paper.scale import SETS

OUT = Path(__file__).parents[1] / "results" / "decisions" / "few-and-late-labels.jsonl"
ORDERS = ("file", "shuffle-1", "shuffle-2")
DELAYS = {"at once": 0, "10 rows later": 10, "100 rows later": 100}
BUDGET = 0.1
ASKED = "of a tenth of the rows, asked"
CASES = (*DELAYS, ASKED)


def teacher(case, learner, X, Y):
    """Return what is learned after a row has been answered, as a function of its number."""

    def learn_late(t):
        row = t - DELAYS[case]
        if row >= 0:
            learner.learn(X[row : row + 1], Y[row : row + 1])

    active = ActiveLearner(BUDGET)

    def learn_asked(t):
        question = active.ask(learner, X[t])
        active.tell(learner, question, Y[t] if question else None)

    return learn_asked if case == ASKED else learn_late


def run(learner, case, X, Y):
    """Return the pairs of one case."""
    teach, told = teacher(case, learner, X, Y), random_halves(*Y.shape, MASKS, SEED)
    found = answer_stream(learner, X, Y, told, teach, DELAYS.get(case, 0))
    hidden, alone = np.where(found.told, HIDDEN, found.Y), found.decisions["hamming"]
    before = np.broadcast_to(alone, hidden.shape)
    return {
        "share": found.share,
        "half": compare("pa", hidden, before, found.told_decisions),
        "subset": compare("subset_accuracy", found.Y, alone, found.decisions["subset"]),
        "log_loss": compare("log_loss", found.Y, squash(found.scores), found.probabilities),
    }


def main(arguments=None, out=OUT):
    parser = argparse.ArgumentParser(description="Measure labels together if labels come late.")
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS), metavar="SET")
    for name in parser.parse_args(arguments).only:
        for order in ORDERS:
            done = {(r["set"], r["order"]) for r in read(out)}
            if (name, order) in done:
                continue
            ds = ordered_initial_part(name, order, 0.5)
            fitted = EFCMLClassifier().fit(*ds.initial).learner_
            X, Y = (np.ascontiguousarray(part, dtype=float) for part in ds.stream)
            record = {"set": name, "order": order, "version": efcml.__version__, "method": method()}
            record |= {case: run(fitted.copy(), case, X, Y) for case in CASES}
            with out.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(name, order, *(f"{record[case]['half']['after']:.4f}" for case in CASES))


if __name__ == "__main__":
    main()
