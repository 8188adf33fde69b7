"""Every model of `efcml_paper.simple_models` on the four small sets, with default parameters.

Initial part fitted, rest test-then-train, file order; nothing is tuned. ``python
experiments/decisions/rivals.py`` appends what is missing to
``experiments/results/decisions/rivals.jsonl``; `make docs-tables` writes the table of them.
"""

from functools import partial
from pathlib import Path

from inside import KEPT, SETS, run_missing

from efcml import datasets
from efcml.studies import Variant
from efcml_paper.simple_models import MODELS, make_model

OUT = Path(__file__).parents[1] / "results" / "decisions" / "rivals.jsonl"


def more(study, name, model):
    """Return what else a record says."""
    result, variant = study.result(model, name), study.plan.variants[model]
    counts = {"births": result.births, "merges": result.merges}
    return counts | {"parameters": variant.describe()["model"]["parameters"]}


def main():
    models = {
        model: Variant(make_model(model), learn=rival.learn) for model, rival in MODELS.items()
    }
    keys = {(name, model): {"model": model, "set": name} for model in models for name in SETS}
    data = {name: partial(datasets.load, name) for name in SETS}
    run_missing(OUT, keys, models, data, more=more, folder=KEPT / "rivals")


if __name__ == "__main__":
    main()
