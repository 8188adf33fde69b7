"""The models of peers.py; run as a program, it is one of them in a process of its own.

Libraries that exclude each other are run by different interpreters. ``python
experiments/benchmarks/peer_models.py NAME FILE CORE`` reads rows from an .npz file, learns the
initial part and says so; then it answers every line ``N`` on its standard input with the scores of
the next N rows, each scored and then learned, and the seconds that took. Answers are lines of JSON.
"""

import json
import os
import platform
import sys
import time
from importlib import metadata

import numpy as np
from peer_libraries import Efcml, EfcmlRows, Mlp, River, RiverISoup, SgdLoop, SgdMultiOutput
from peer_others import FuzzyPerLabel, Moa, Multiflow

# name: (title, class, keywords); names that begin with "efcml" are ours
MODELS = {
    "efcml": ("efcml", Efcml, {}),
    "efcml-rules": ("efcml, `cases=0`", Efcml, {"cases": 0}),
    "efcml-five": ("efcml, `max_rules=5`", Efcml, {"max_rules": 5}),
    "efcml-five-rules": ("efcml, `max_rules=5, cases=0`", Efcml, {"max_rules": 5, "cases": 0}),
    "efcml-rows": ("efcml, row by row (`RiverEFCML`)", EfcmlRows, {}),
    "efcml-ovr": ("efcml, one versus rest", Efcml, {"model": "ovr"}),
    "efcml-chain": ("efcml, chain", Efcml, {"model": "chain"}),
    "efcml-plane": ("efcml, one global plane", Efcml, {"model": "rls"}),
    "efcml-fourier": ("efcml, one plane on Fourier features", Efcml, {"model": "rff"}),
    "river-logistic": ("river, logistic regression per label", River, {"kind": "logistic"}),
    "river-chain": ("river, chain of logistic regressions", River, {"kind": "chain"}),
    "river-bayes": ("river, Gaussian naive Bayes per label", River, {"kind": "bayes"}),
    "river-tree": ("river, Hoeffding tree per label", River, {"kind": "tree"}),
    "river-forest": ("river, forest per label (ARF 10)", River, {"kind": "forest"}),
    "river-neighbours": ("river, 10 neighbours per label", River, {"kind": "neighbours"}),
    "river-isoup": ("river, iSOUP tree", RiverISoup, {}),
    "sklearn-sgd": ("scikit-learn, SGD per label", SgdLoop, {}),
    "sklearn-multi": ("scikit-learn, SGD in MultiOutputClassifier", SgdMultiOutput, {}),
    "sklearn-mlp": ("scikit-learn, MLP", Mlp, {}),
    "moa-tree": ("MOA, Hoeffding tree per label", Moa, {"kind": "tree"}),
    "moa-forest": ("MOA, forest per label (ARF 10)", Moa, {"kind": "forest"}),
    "moa-neighbours": ("MOA, 10 neighbours per label", Moa, {"kind": "neighbours"}),
    "fuzzy-epl": ("evolvingfuzzysystems, ePL per label", FuzzyPerLabel, {"kind": "ePL"}),
    "fuzzy-exts": ("evolvingfuzzysystems, exTS per label", FuzzyPerLabel, {"kind": "exTS"}),
    "multiflow-isoup": ("scikit-multiflow, iSOUP tree", Multiflow, {"kind": "soup"}),
    "multiflow-tree": ("scikit-multiflow, Hoeffding tree per label", Multiflow, {"kind": "tree"}),
}


def version_of(library):
    """Return the version of a library; efcml may be run without being installed."""
    if library == "efcml":
        import efcml

        return efcml.__version__
    return metadata.version(library)


def main():
    name, file, core = sys.argv[1:4]
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints is no answer
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core)})
    with np.load(file) as data:
        X, Y, n = data["X"], data["Y"], int(data["n_initial"])
    title, kind, keywords = MODELS[name]

    def make():
        return kind(X.shape[1], Y.shape[1], n, **keywords)

    try:
        make()
    except ImportError as error:
        answers.write(json.dumps({"missing": str(error)}) + "\n")
        return
    kind.warm(make, X[:n], Y[:n])
    model = make()
    begin = time.perf_counter()
    model.fit(X[:n], Y[:n])
    seconds = time.perf_counter() - begin
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    versions[kind.library] = version_of(kind.library)
    answers.write(json.dumps({"fit_seconds": seconds, "versions": versions}) + "\n")
    for line in sys.stdin:
        rows = slice(n, n + int(line))
        scores, seconds = model.run(X[rows], Y[rows])
        n = rows.stop
        record = {"scores": scores.tolist(), "seconds": seconds, "made_of": model.made_of()}
        answers.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
