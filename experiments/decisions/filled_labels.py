"""Whether rules form better if known labels help to fill in the others; initial parts only.

A row of which some labels are unknown moves its winner, and a rule may be born from it: then the
rule's own answer stands in for those (how_it_works.md 3). ``python
experiments/decisions/filled_labels.py`` takes labels out of the rows that are learned, fits one
half of the initial part, goes through the other half, and compares three ways:

- ``winner``: as the model is, the answer of the winner, cut to 0 and 1;
- ``known``: the score of the whole model given the labels that are known, cut to 0 and 1;
- ``learned``: the same, and planes and cases learn these labels, too, as if they had been told.

Kept are PA and AP of the later rows, of which all labels count, and the mean squared error of what
was filled in. A record for each set, share of unknown labels and draw is appended to
``experiments/results/decisions/filled-labels.jsonl``, and what is there is not run again;
``--only SET ...`` runs a part. ``make docs-tables`` has the table.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from inside import ordered_initial_part, read

import efcml
from efcml import EFCMLClassifier
from efcml.explain.activity import activate_scaled
from efcml.kernels.winning import move_winner
from efcml.measures import average_precision
from efcml.model.memories import COUNTED_FIELDS, SHARED_FIELDS, follow_antecedents
from efcml.studies.provenance import method
from efcml_paper.scale import SETS

OUT = Path(__file__).parents[1] / "results" / "decisions" / "filled-labels.jsonl"
SHARES = (0.3, 0.5)  # of the labels that are unknown
DRAWS = (1, 2, 3)
WAYS = ("winner", "known", "learned")
RESHAPED = ("births", "merges", "splits", "drops")
MOVED = (*SHARED_FIELDS, "trial")  # what tells how far a winner moves, and where it was
KEPT = ("trial", "tested", "last_won", *COUNTED_FIELDS)


def answer_of_nearest(learner, x):
    """Return what the rule that is nearest to a row by its features says, cut to 0 and 1."""
    scaled = learner.scaler.transform(x)
    psi = activate_scaled(learner, scaled)[0]
    plane = learner.planes[np.argmax(psi)]
    return np.clip(plane[:, :-1] @ scaled[0] + plane[:, -1], 0.0, 1.0)


def learn_and_fill(learner, x, y, filled):
    """Learn a row; then let the winner, or the newborn, have been given these labels.

    They count in the joint Gaussian alone, which nothing else of the row depends on. Rows after
    which rules were merged, split or dropped stay as they are.
    """
    arrays, counts = learner.rules.arrays, dict(learner.counts)
    before = {name: getattr(arrays, name).copy() for name in MOVED}
    learner.learn(x, y)
    labels = np.where(np.isnan(y[0]), filled, y[0])
    happened = {name for name in RESHAPED if learner.counts[name] > counts[name]}
    if happened == {"births"}:
        learner.rules.arrays.center[learner.rules.n_rules - 1, learner.n_features :] = labels
    elif not happened:
        for winner in np.flatnonzero(arrays.updates != before["updates"]):
            move_again(learner, winner, before, x, labels)
    if learner.brief is not None:
        follow_antecedents(learner.brief, learner.rules)


def move_again(learner, winner, before, x, labels):
    """Put a winner back to where it was, and let it take in the row with these labels."""
    arrays, scratch = learner.rules.arrays, learner.rules.scratch
    now = {name: getattr(arrays, name)[winner].copy() for name in MOVED}
    for name, values in before.items():
        getattr(arrays, name)[winner] = values[winner]
    scratch.z[:] = np.concatenate([learner.scaler.transform(x)[0], labels])
    scratch.amount[0], scratch.gaps[0] = 1.0, 0
    move_winner(winner, learner.model)
    for name in KEPT:
        getattr(arrays, name)[winner] = now[name]
    assert np.array_equal(arrays.input_precision[winner], now["input_precision"])


def learn_all(learner, x, y, filled):
    """Learn a row and what is filled in; what errors teach of labels sees the known ones alone."""
    labels, scores = learner.labels, learner.score(x)
    learner.labels = None
    learner.learn(x, np.where(np.isnan(y), filled, y))
    learner.labels = labels
    labels.follow(scores[:0], scores, y, np.ones(1), 0)


def run(name, share, draw):
    """Return the record of one draw: all ways on the same rows."""
    ds = ordered_initial_part(name, "file", 0.5)
    Y = np.where(np.random.default_rng(draw).random(ds.Y.shape) < share, np.nan, ds.Y)
    X, first = np.ascontiguousarray(ds.X, dtype=float), ds.n_initial
    fitted = EFCMLClassifier().fit(X[:first], Y[:first]).learner_
    facts = {"set": name, "unknown": share, "draw": draw, "rows": len(X) - first}
    facts |= {"version": efcml.__version__, "method": method()}
    truth = ds.Y[first:].astype(float)
    for way in WAYS:
        learner, scores = fitted.copy(), np.empty_like(truth)
        off = np.zeros(2)  # squared errors of the two fills
        for t in range(first, len(X)):
            x, y = X[t : t + 1], Y[t : t + 1]
            scores[t - first] = learner.score(x)[0]
            unknown = np.isnan(y[0])
            if not unknown.any() or unknown.all():
                learner.learn(x, y)
                continue
            filled = np.clip(learner.answer(x, y).scores[0], 0.0, 1.0)
            fills = np.array([answer_of_nearest(learner, x), filled])
            off += ((fills - ds.Y[t]) ** 2)[:, unknown].sum(axis=1)
            if way == "winner":
                learner.learn(x, y)
            else:
                (learn_and_fill if way == "known" else learn_all)(learner, x, y, filled)
        facts[way] = {
            "pa": float(((scores >= 0.5) == truth).mean()),
            "ap": average_precision(truth, scores),
            "rules": learner.n_rules,
            "events": learner.counts,
        }
        if way == "winner":
            partly = np.isnan(Y[first:]) & ~np.isnan(Y[first:]).all(axis=1)[:, None]
            facts["squared_error"] = dict(zip(WAYS, (off / partly.sum()).tolist(), strict=False))
    return facts


def main(arguments=None, out=OUT):
    parser = argparse.ArgumentParser(description="Fill in labels that are unknown.")
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS), metavar="SET")
    for name in parser.parse_args(arguments).only:
        done = {(r["set"], r["unknown"], r["draw"]) for r in read(out)}
        for share in SHARES:
            for draw in DRAWS:
                if (name, share, draw) not in done:
                    record = run(name, share, draw)
                    with out.open("a") as file:
                        file.write(json.dumps(record) + "\n")
                    marks = ", ".join(
                        f"{w} {record[w]['pa']:.4f}/{record[w]['ap']:.4f}" for w in WAYS
                    )
                    print(f"{name}, {share:.0%} unknown, draw {draw}: {marks}", flush=True)


if __name__ == "__main__":
    main()
