"""What is run for every figure and table of the paper: models on data, as studies.

Every model has its defaults: nothing is tuned, neither on the stream nor before it. The large set
is cut to its first rows. ``quick`` is the same on little data.
"""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

from efcml import ActiveLearner, ChainEFC, EFCMLClassifier, OneVsRestEFC, datasets
from efcml.studies import Variant

SETS = ("birds", "emotions", "water-quality", "yeast")  # in the order of the paper's figures
COUNTED = ("emotions", "water-quality")
LARGE, CUT = "mediamill", (2000, 3000)  # its initial part, and all rows: the whole takes days
QUICK_INITIAL, QUICK_ROWS = 60, 100
SMALL = ", small start"  # a tenth of the rows is the initial part
BUDGETS = (0.1, 0.2, 0.3)
CRITERIA = ("novelty", "ambiguity", "instability")


class Experiment(NamedTuple):
    """A study, and the measures that the paper shows."""

    make: Callable  # from `quick` to what `Study` gets
    measures: tuple[str, ...] = ("pa", "ap")


def load(name, quick, *, small=False, cut=CUT):
    """Return a data set in file order; from a small start a static model is not yet good."""
    ds = datasets.load(name)
    rows, first = slice(None), ds.n_initial
    if name == LARGE:
        rows, first = slice(cut[1]), cut[0]
    if small:
        first, name = len(ds) // 10, name + SMALL
    if quick:
        rows = slice(first - QUICK_INITIAL, first - QUICK_INITIAL + QUICK_ROWS)
        rows, first = (rows, QUICK_INITIAL) if not small else (slice(QUICK_ROWS), 20)
    return datasets.from_arrays(ds.X[rows], ds.Y[rows], n_initial=first, name=name)


def in_orders(quick, names=SETS, orders=3):
    """Return data and orders."""
    return {"data": [load(name, quick) for name in names], "orders": 1 if quick else orders}


def compared(quick, names=SETS, orders=3):
    """The models of the paper, with its correlation; rules alone are nearer to its own."""
    models = {
        "EFC-ML": EFCMLClassifier(correlation="shift"),
        "rules alone": EFCMLClassifier(correlation="shift", cases=0, time=False),
        "one-versus-rest": OneVsRestEFC(),
        "chain": ChainEFC(),
        "static": Variant(EFCMLClassifier(correlation="shift"), learn=False),
        "least squares only": EFCMLClassifier(),
    }
    return {"models": models} | in_orders(quick, names, orders)


def large(quick):
    """The same on the first rows of mediamill."""
    return compared(quick, (LARGE,), 1)


def budget_lines(unit):
    """Return all labels, none, and every budget: active and at random."""
    lines = {"full update": Variant(EFCMLClassifier())}
    for budget in BUDGETS:
        asking = ActiveLearner(budget, unit), ActiveLearner(budget, unit, "random")
        for word, active in zip(("active", "random"), asking, strict=True):
            lines[f"{word} {budget:.0%}"] = Variant(EFCMLClassifier(), active=active)
    return lines | {"static": Variant(EFCMLClassifier(), learn=False)}


def both_starts(quick):
    """Return the sets from the published split and from a small start."""
    pairs = product((False, True), SETS)
    data = [load(name, quick, small=small) for small, name in pairs]
    return {"data": data, "orders": 1 if quick else 3}


def asked(unit):
    """Return what makes the study of budgets of a unit."""
    return lambda quick: {"models": budget_lines(unit)} | both_starts(quick)


def asked_large(quick):
    """Budgets of samples on the first rows of mediamill."""
    return {"models": budget_lines("samples")} | in_orders(quick, (LARGE,), 1)


def criteria(quick):
    """A budget of 10 % with and without the third criterion."""
    models = {}
    for unit, (word, some) in product(
        ("labels", "samples"), (("without", CRITERIA[:2]), ("with", CRITERIA))
    ):
        active = ActiveLearner(BUDGETS[0], unit, some)
        models[f"{word} instability, {unit}"] = Variant(EFCMLClassifier(), active=active)
    return {"models": models} | both_starts(quick)


PARTS = {  # one thing is changed, all else is the default
    "rules alone": {"cases": 0, "time": False},
    "no cases": {"cases": 0},
    "no time": {"time": False},
    "nothing forgotten": {"forgetting": 1.0},
    "scale frozen": {"scaling": "frozen"},
    "all features": {"relevance": "off"},
    "correlation": {"correlation": "shift"},
    "Laplacian": {"correlation": "laplacian"},
    "ten times the correlation": {"correlation": "shift", "beta": 1.0},
    "L1 of .01": {"alpha": 0.01},
    "no splitting": {"splitting": "off"},
    "no merging": {"merging": False},
    "one rule": {"max_rules": 1},
    "input space": {"product_space": False},
    "bandwidth of 1": {"bandwidth": 1.0},
    "prior of 1": {"prior": 1.0},
}


def parts():
    """Return the default, one thing changed at a time, nothing learned, and all as printed."""
    models = {"default": EFCMLClassifier()}
    models |= {name: EFCMLClassifier(**changed) for name, changed in PARTS.items()}
    models["static"] = Variant(EFCMLClassifier(), learn=False)
    return models | {"as printed": EFCMLClassifier.paper()}


def ablation(quick):
    """What each part of the method earns."""
    return {"models": parts()} | in_orders(quick)


EXPERIMENTS = {
    "pa-trends": Experiment(compared, ("pa",)),
    "ap-trends": Experiment(compared, ("ap",)),
    "rule-counts": Experiment(lambda quick: compared(quick, COUNTED), ("pa",)),
    "speed": Experiment(compared, ("pa",)),
    "al-labels": Experiment(asked("labels")),
    "al-samples": Experiment(asked("samples")),
    "al-instability": Experiment(criteria),
    "ablation": Experiment(ablation),
    "mediamill": Experiment(large),
    "al-mediamill": Experiment(asked_large),
}
