"""Whether models for each label should be cautious, each alone or all together; initial parts only.

``python experiments/decisions/caution_by_label.py`` fits ``OneVsRestEFC`` without caution and time
to a part of the initial part and goes through the rest, test-then-train. Rules and cases do not
know of caution and time, so what these would have made of the scores is found afterwards, by the
same kernels:

- ``alone``: caution and time of each label by itself, as the model has it;
- ``time``: time of each label by itself, no caution;
- ``pooled``: the same, after caution that all labels share.

Kept are PA and AP, by set, order and share that was fitted, in a record that is appended to
``experiments/results/decisions/caution-by-label.jsonl``; what is there is not run again, and
``--only SET ...`` runs a part.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from inside import ordered_initial_part, read

import efcml
from efcml import OneVsRestEFC, prequential
from efcml.kernels.sequel import answer_sequel, learn_sequel
from efcml.measures import average_precision
from efcml.model.honest_errors import honest_errors
from efcml.model.sequelbase import SequelBase
from efcml.studies.provenance import method
from efcml_paper.scale import SETS

OUT = Path(__file__).parents[1] / "results" / "decisions" / "caution-by-label.jsonl"
ORDERS = ("file", "shuffle-1", "shuffle-2")
SHARES = (0.5, 0.15)  # of the initial part that is fitted
WAYS = ("alone", "time", "pooled")


def batch_errors(learner, X, Y):
    """Return the errors (n, K) that the model of each label would make at rows not learned."""
    columns = []
    for model, label in zip(learner.models, learner.order, strict=True):
        facts = model.rules, model.cases, model.shared, model.scaler.transform(X)
        columns.append(honest_errors(*facts, Y[:, [label]], model.settings, None))
    return np.hstack(columns)


def follow(scores, Y, errors, first, *, trusts, times):
    """Return what caution and time make of scores (n, K), all labels of a table together."""
    sequel = SequelBase(Y.shape[1], trusts=trusts, times=times)
    sequel.begin(errors, first)
    known, found = np.ones(Y.shape[1], dtype=bool), scores.copy()
    for t, y in enumerate(Y):
        answer_sequel(0, sequel.arrays, found[t])
        sequel.arrays.scores[:], sequel.arrays.amount[0] = scores[t], 1.0
        learn_sequel(y, known, len(y), sequel.arrays)
    return found


def follow_each(scores, Y, errors, first, **parts):
    """Return the same of each label by itself."""
    tables = zip(scores.T, Y.T, errors.T, first.T, strict=True)
    columns = [[np.ascontiguousarray(part[:, None]) for part in table] for table in tables]
    return np.hstack([follow(*table, **parts) for table in columns])


def marks_of(scores, Y):
    """Return PA and AP."""
    return {"pa": float(((scores >= 0.5) == Y).mean()), "ap": average_precision(Y, scores)}


def run(name, order, share):
    """Return the record of one run."""
    ds = ordered_initial_part(name, order, share)
    clf = OneVsRestEFC(caution=False, time=False).fit(*ds.initial)
    first, (_, Y) = ds.initial[1].astype(float), ds.stream
    errors = batch_errors(clf.learner_, np.asarray(ds.initial[0], dtype=float), first)
    scores, Y = prequential(clf, *ds.stream, progress=False).scores, Y.astype(float)
    timed = follow_each(scores, Y, errors, first, trusts=False, times=True)
    cautious = follow(scores, Y, errors, first, trusts=True, times=False)
    return {
        "set": name,
        "order": order,
        "share": share,
        "version": efcml.__version__,
        "method": method(),
        "neither": marks_of(scores, Y),
        "alone": marks_of(follow_each(scores, Y, errors, first, trusts=True, times=True), Y),
        "time": marks_of(timed, Y),
        "pooled": marks_of(timed + cautious - scores, Y),
    }


def main(arguments=None, out=OUT):
    parser = argparse.ArgumentParser(description="Let models for each label be cautious, or not.")
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS), metavar="SET")
    names = parser.parse_args(arguments).only
    plan = [(name, order, share) for share in SHARES for order in ORDERS for name in names]
    done = {(r["set"], r["order"], r["share"]) for r in read(out)}
    for key in plan:
        if key not in done:
            record = run(*key)
            with out.open("a") as file:
                file.write(json.dumps(record) + "\n")
            marks = (f"{way} {record[way]['pa']:.4f}/{record[way]['ap']:.4f}" for way in WAYS)
            print(*key, *marks, flush=True)


if __name__ == "__main__":
    main()
