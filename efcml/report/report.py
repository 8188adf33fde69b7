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
from efcml.evaluation.adapters import last_step
from efcml.explain import name_all
from efcml.measures import MEASURES
from efcml.report.figures import constant_scores, draw_run
from efcml.report.page import MEASURED, Table, picture, shown, write_page
from efcml.rivals import MODELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from efcml.active import ActiveLearner
    from efcml.datasets import Dataset
    from efcml.evaluation import PrequentialResult
    from efcml.support.aliases import Facts, PathLike, TableLike

PACKAGES = ("numpy", "numba", "scipy", "scikit-learn", "matplotlib")


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
) -> Path:
    """Write one self-contained HTML page about a run.

    The file is complete or not there: an older one is replaced at the end.

    Parameters
    ----------
    classifier : estimator or pipeline
        As it is after the run.
    summary : dict, optional
        Further facts, all of which are shown.
    active : ActiveLearner, optional
        The one that asked for the labels of the run.
    dataset : Dataset, optional
        Where the rows came from; its drifts are marked, and it is said what became of its columns.
    X : array-like of shape (n, p), optional
        The rows of the run: then it is also drawn which rule decides each row.
    figures : dict of str to Figure, or to the path of an SVG file, optional
        Those of `draw_run` if not given.
    """
    if not len(result.Y):
        raise ValueError("the run has no rows: there is nothing to report.")
    model, Y = last_step(classifier), result.Y
    facts = summarise(result, classifier, active, dataset) | dict(summary or {})
    if figures is None:
        figures = draw_run(result, classifier, active, dataset=dataset, X=X)
    name = MODELS[facts["model"]].title if facts["model"] in MODELS else facts["model"]
    rules = getattr(model, "rules_", None)
    table = dataset.table if dataset else None
    columns = [] if table is None else [[one.name, one.said] for one in table.columns]
    versions = {"efcml": facts["version"], "Python": platform.python_version()}
    versions |= {package: version(package) for package in PACKAGES}
    parameters, changed = list_parameters(facts["parameters"], classifier)
    return write_page(
        path,
        f"{name} on {facts['dataset']}" if facts.get("dataset") else name,
        "report.html.j2",
        s=facts,
        n=len(Y),
        result=result,
        active=active,
        dataset=dataset,
        constant={name: MEASURES[name](Y, constant_scores(Y)) for name in ("pa", "ap")},
        pictures=[picture(one, key) for key, one in figures.items()],
        labels=list_labels(result, model, dataset),
        rules=rules,
        columns=Table("columns-table", "What became of each column", ["column", "it is"], columns),
        numbers=list_numbers(facts | {"model": name}),
        parameters=parameters,
        changed=changed,
        unranked=int(np.isnan(MEASURES["ap"].rows(Y, result.scores)).sum()),
        unknown=int(np.isnan(Y).sum()),
        versions=Table("versions", "Versions", ["package", "version"], [*versions.items()]),
        written=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC on {' '.join(platform.uname()[::4])}",
    )


def summarise(
    result: PrequentialResult, classifier: Any, active: ActiveLearner | None, dataset: Any
) -> Facts:
    """Return the facts of a run that are known without being told."""
    kind = type(last_step(classifier)).__name__
    known = 1.0 - np.isnan(result.Y).mean()  # without an active learner all of these are given
    return {
        "dataset": None if dataset is None else dataset.name,
        "model": {"EFCMLClassifier": "efcml"}.get(kind, kind),
        "n_initial": None if dataset is None else dataset.n_initial,
        "n_stream": len(result.Y),
        **{measure: result.measure(measure) for measure in MEASURED},
        "rules": int(result.rules[-1]),
        **result.event_counts,
        "changes": result.changes,
        "queried_share": float(result.queried.mean() * (known if active is None else 1.0)),
        "budget": None if active is None else active.budget,
        "unit": None if active is None else active.unit,
        "ms_per_sample": 1e3 * result.seconds_per_sample,
        "parameters": classifier.get_params() if hasattr(classifier, "get_params") else {},
        "version": __version__,
    }


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
        frequency = ones / rows
        found = right.sum(axis=0) / rows, np.maximum(ones, rows - ones) / rows
        f1 = 2.0 * (there & decided).sum(axis=0) / (ones + (known & decided).sum(axis=0))
    order = np.argsort(-np.nan_to_num(frequency), kind="stable")
    head = ["label", "frequency", "PA", "constant", "F1"]
    lines = [
        [names[k], shown(frequency[k], "frequency"), *(shown(v[k], "pa") for v in (*found, f1))]
        for k in order
    ]
    return Table("labels", "Every label by itself, the most frequent first", head, lines)


def list_numbers(summary: Facts) -> Table:
    """Return all facts as a table, by the names that they have in ``summary.json``.

    What is shown elsewhere, and what was not set, such as a budget, is left out.
    """
    lines = [
        [key.replace("_", " "), shown(value, key)]
        for key, value in summary.items()
        if not isinstance(value, dict | list | tuple) and (value is not None or key in MEASURED)
    ]
    return Table("numbers", "Everything in summary.json", ["what", "value"], lines)


def list_parameters(parameters: Mapping[str, Any], classifier: Any) -> tuple[Table, int]:
    """Return the parameters, those that are not at their defaults first; and how many these are."""
    known = signature(type(classifier)).parameters
    defaults = {name: known[name].default for name in parameters if name in known}
    usual = [name for name in defaults if repr(parameters[name]) == repr(defaults[name])]
    order = sorted(parameters, key=usual.__contains__)
    lines = [[name, shown(parameters[name]), shown(defaults.get(name))] for name in order]
    head = ["parameter", "value", "default"]
    return Table("parameters", "All parameters", head, lines), len(parameters) - len(usual)
