"""What a report says of a run: its numbers as tables; the words are in report.html.j2."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml import __version__
from efcml.explain import name_all
from efcml.measures import MEASURES, average_precision_rows
from efcml.report.figures import constant_scores, draw_run, split
from efcml.report.page import MEASURED, Cell, Table, picture, shown, write_page
from efcml.rivals import MODELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from efcml.active import ActiveLearner
    from efcml.datasets import Dataset
    from efcml.evaluation import PrequentialResult
    from efcml.support.aliases import Facts, PathLike, TableLike

PACKAGES = ("numpy", "numba", "scipy", "scikit-learn", "matplotlib")
COMPARED = {"pa": "PA", "ap": "AP", "rules": "rules", "births": "births", "splits": "splits"}
COMPARED |= {"merges": "merges", "ms_per_sample": "ms/row"}
LABELS = {"frequency": "frequency", "pa": "PA", "constant_pa": "constant", "f1": "F1"}


def write_report(
    path: PathLike,
    *,
    result: PrequentialResult,
    classifier: Any,
    summary: Facts | None = None,
    active: ActiveLearner | None = None,
    dataset: Dataset | None = None,
    X: TableLike | None = None,
    figures: Mapping[str, Figure | Path] | None = None,
    captions: Mapping[str, str] | None = None,
    rules: object = None,
) -> Path:
    """Write one self-contained HTML page about a run.

    The file is complete or not there: an older one is replaced at the end.

    Parameters
    ----------
    path : str or path
    result : PrequentialResult
    classifier : estimator or pipeline
        As it is after the run.
    summary : dict, optional
        Further facts, such as ``summary.json`` has them. Every number, word and truth value in it
        is shown. "models", a dict of such dicts, is a table to compare with, and "findings" are
        sentences.
    active : ActiveLearner, optional
        The one that asked for the labels of the run.
    dataset : Dataset, optional
        Where the rows came from; its drifts are marked, and it is said what became of its columns.
    X : array-like of shape (n, p), optional
        The rows of the run: then it is also drawn which rule decides each row.
    figures : dict of str to Figure, or to the path of an SVG file, optional
        Those of `draw_run` if not given; ``captions`` has the captions of further ones.
    rules : RuleList, dict of str to RuleList, or object, optional
        Those of the classifier if not given. Of an object that is none its ``str()`` is shown.
    """
    if not len(result.Y):
        raise ValueError("the run has no rows: there is nothing to report.")
    model, Y = split(classifier)[1], result.Y
    facts = summarise(result, classifier, active, dataset) | dict(summary or {})
    if figures is None:
        first_row = 0 if dataset is None else dataset.n_initial
        options: Any = {"dataset": dataset, "first_row": first_row, "X": X}
        figures = draw_run(result, classifier, active, **options)
    captions, name, moment = captions or {}, model_title(facts["model"]), datetime.now(UTC)
    models = facts.get("models", {})
    lines = {key: [one.get("name", key), *cells(one, COMPARED)] for key, one in models.items()}
    columns = dataset.table.columns if dataset and dataset.table else ()
    versions = {"efcml": facts["version"], "Python": platform.python_version()}
    versions |= {package: version(package) for package in PACKAGES}
    parameters, changed = list_parameters(facts["parameters"], classifier)
    return write_page(
        path,
        f"{name} on {facts['dataset']}" if facts.get("dataset") else name,
        template="report.html.j2",
        s=facts,
        n=len(Y),
        result=result,
        active=active,
        dataset=dataset,
        constant={name: MEASURES[name](Y, constant_scores(Y)) for name in ("pa", "ap")},
        models=Table(
            "models", "All models on the same rows", ["model", *COMPARED.values()], lines, True
        ),
        pictures=[picture(one, key, captions.get(key, "")) for key, one in figures.items()],
        labels=list_labels(result, model, dataset),
        rules=getattr(model, "rules_", None) if rules is None else rules,
        columns={one.name: Cell(one.kind, one.said) for one in columns},
        numbers=list_numbers(facts),
        parameters=parameters,
        changed=changed,
        unranked=int(np.isnan(average_precision_rows(Y, result.scores)).sum()),
        unknown=int(np.isnan(Y).sum()),
        versions=versions,
        written=f"{moment:%Y-%m-%d %H:%M} UTC on {platform.system()} {platform.machine()}",
    )


def summarise(
    result: PrequentialResult, classifier: Any, active: ActiveLearner | None, dataset: Any
) -> Facts:
    """Return the facts of a run that are known without being told."""
    kind = type(split(classifier)[1]).__name__
    known = 1.0 - np.isnan(result.Y).mean()  # without an active learner all of these are given
    return {
        "dataset": None if dataset is None else dataset.name,
        "model": {"EFCMLClassifier": "efcml"}.get(kind, kind),
        "n_initial": None if dataset is None else dataset.n_initial,
        "n_stream": len(result.Y),
        **{measure: result.measure(measure) for measure in MEASURED},
        "rules": int(result.rules[-1]),
        **result.event_counts,
        "queried_share": float(result.queried.mean() * (known if active is None else 1.0)),
        "budget": None if active is None else active.budget,
        "unit": None if active is None else active.unit,
        "ms_per_sample": 1e3 * result.seconds_per_sample,
        "parameters": classifier.get_params() if hasattr(classifier, "get_params") else {},
        "version": __version__,
    }


def cells(facts: Mapping[str, Any], keys: Mapping[str, str]) -> list[Cell]:
    """Return some values, each with the words for it."""
    return [Cell(facts[key], shown(facts[key], key)) for key in keys]


def model_title(name: str) -> str:
    """Return the name of a model for readers."""
    return MODELS[name].title if name in MODELS else str(name)


def list_labels(result: PrequentialResult, model: Any, dataset: Dataset | None) -> Table:
    """Return how well each label was predicted, the most frequent first; NaN for no number.

    All but the constant answer, which is the more frequent one, go by what the model decided.
    """
    named = getattr(model, "label_names_", None) if dataset is None else dataset.label_names
    names = name_all(named, "label", result.Y.shape[1])
    Y, known, decided = result.Y, ~np.isnan(result.Y), result.decisions
    there, rows = Y == 1.0, known.sum(axis=0)
    ones, right = there.sum(axis=0), known & (there == decided)
    with np.errstate(invalid="ignore"):
        numbers = {
            "frequency": ones / rows,
            "pa": right.sum(axis=0) / rows,
            "constant_pa": np.maximum(ones, rows - ones) / rows,
            "f1": 2.0 * (there & decided).sum(axis=0) / (ones + (known & decided).sum(axis=0)),
        }
    order = np.argsort(-np.nan_to_num(numbers["frequency"]), kind="stable")
    own = [{key: float(values[k]) for key, values in numbers.items()} for k in range(len(rows))]
    lines = {names[k]: [names[k], *cells(own[k], LABELS)] for k in order}
    caption = "Every label by itself, the most frequent first"
    return Table("labels", caption, ["label", *LABELS.values()], lines, numbers=True)


def list_numbers(summary: Facts) -> Table:
    """Return all facts as a table, by the names that they have in ``summary.json``."""
    lines = {}
    for key, value in summary.items():
        if isinstance(value, dict | list | tuple) or (value is None and key not in MEASURED):
            continue  # shown elsewhere; or no budget was set, say: nothing to tell
        words = model_title(value) if key == "model" else shown(value, key)
        lines[key] = [key.replace("_", " "), Cell(value, words)]
    return Table("numbers", "Everything in summary.json", ["what", "value"], lines)


def list_parameters(parameters: Mapping[str, Any], classifier: Any) -> tuple[Table, int]:
    """Return the parameters, those that are not at their defaults first; and how many these are."""
    known = signature(type(classifier)).parameters
    changed: dict[str, list[Any]] = {}
    usual: dict[str, list[Any]] = {}
    for name, value in parameters.items():
        default = known[name].default if name in known else None
        same = name in known and repr(value) == repr(default)
        (usual if same else changed)[name] = [name, value, "" if same else shown(default)]
    head = ["parameter", "value", "default"]
    return Table("parameters", "All parameters", head, changed | usual), len(changed)
