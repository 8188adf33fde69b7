"""What a report says of a run: its sections, from the summary to the versions."""

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
from efcml.explain import RuleList, name_all
from efcml.measures import MEASURES, average_precision_rows
from efcml.report.figures import constant_scores, draw_run, split
from efcml.report.page import Cards, Cell, Html, Section, Table, Text, picture, shown, write_page
from efcml.rivals.model_list import MODELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from efcml.active import ActiveLearner
    from efcml.datasets import Dataset
    from efcml.evaluation import PrequentialResult
    from efcml.support.aliases import Facts, PathLike, TableLike

PACKAGES = ("numpy", "numba", "scipy", "scikit-learn", "matplotlib")
MEASURED = ("pa", "ap", "macro_f1", "subset_accuracy", "log_loss", "calibration_error")
FORMATS = dict.fromkeys((*MEASURED, "constant_pa", "f1"), ".4f")
FORMATS |= {"queried_share": ".1%", "frequency": ".1%", "ms_per_sample": ".3g", "seconds": ".3g"}
COMPARED = {"pa": "PA", "ap": "AP", "rules": "rules", "births": "births", "splits": "splits"}
COMPARED |= {"merges": "merges", "ms_per_sample": "ms/row"}
LABEL_HEAD = {"frequency": "frequency", "pa": "PA", "constant_pa": "constant", "f1": "F1"}
CAPTIONS = {
    "trends": "Measures along the stream. Every row is predicted before it is learned. The first "
    "few rows, too few for a mean, are not drawn.",
    "rules": "Number of rules along the stream. Ticks: where rules are born, split, merged, "
    "dropped, or drift. Strips, if there are any: which of the rules at the end would decide each "
    "row; the darker, the more rows of a stretch.",
    "memberships": "Where the rules lie along the features that tell them apart: 1 at the center "
    "of a rule, in standard deviations from the usual. Bars: share of yes.",
    "cards": "The rules that decide most: when they hold, and the share of each label in the rows "
    "that they decided of late, with its interval; of many labels those that are least as usual. "
    "Beyond the line a label is more likely than not.",
    "importance": "How much the features move the score of each label: per standard deviation of "
    "the feature inside a rule, over all rules by their share of the activation.",
    "relevance": "What every feature tells of the labels, alone or with a partner, beside features "
    "with shuffled rows: beyond the line it is more than chance. Rules are formed over these "
    "features; the others are in no condition. Below: the same along the stream.",
    "reliability": "Whether probabilities are what they say: how often labels were true that were "
    "predicted with such a probability. On the diagonal both are the same. Bars: 95 % intervals.",
    "spending": "Share asked so far, and the budget. Ticks: the criterion that asked.",
}
DECIDED = {  # by the parameter ``decision``: when a label is predicted
    "hamming": "A label is predicted if its score is at least 0.5.",
    "f1": 'Decisions are by decision="f1": a label is predicted from the score on at which its F1 '
    "had been best so far. So rare labels are said, and partial accuracy is usually lower.",
    "subset": 'Decisions are by decision="subset": predicted are the labels that are most likely '
    "as a whole set. Partial accuracy is usually lower than if each were decided alone.",
}


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
    model = split(classifier)[1]
    summary = summarise(result, classifier, active, dataset) | dict(summary or {})
    if figures is None:
        first_row = 0 if dataset is None else dataset.n_initial
        options: Any = {"dataset": dataset, "first_row": first_row, "X": X}
        figures = draw_run(result, classifier, active, **options)
    rules = getattr(model, "rules_", None) if rules is None else rules
    constant = {name: MEASURES[name](result.Y, constant_scores(result.Y)) for name in ("pa", "ap")}
    names = name_labels(result, model, dataset)
    sections = [
        introduction(summary, result, active),
        Section("summary", "Summary", [main_numbers(summary, constant)]),
        compared(summary),
        Section("figures", "Figures", draw_parts(figures, captions or {}, summary, result)),
        label_section(result, names),
        Section("rules", "Rules at the end", rule_parts(rules)),
        column_section(dataset),
        all_numbers(summary),
        parameter_section(summary["parameters"], classifier),
        method_section(summary, result, constant),
    ]
    of = f" on {summary['dataset']}" if summary.get("dataset") else ""
    return write_page(path, f"{model_title(summary['model'])}{of}", sections)


def summarise(
    result: PrequentialResult, classifier: Any, active: ActiveLearner | None, dataset: Any
) -> Facts:
    """Return the facts of a run that are known without being told."""
    kind = type(split(classifier)[1]).__name__
    return {
        "dataset": None if dataset is None else dataset.name,
        "model": {"EFCMLClassifier": "efcml"}.get(kind, kind),
        "n_initial": None if dataset is None else dataset.n_initial,
        "n_stream": len(result.Y),
        **{measure: result.measure(measure) for measure in MEASURED},
        "rules": int(result.rules[-1]),
        **result.event_counts,
        "queried_share": float(result.queried.mean()),
        "budget": None if active is None else active.budget,
        "unit": None if active is None else active.unit,
        "ms_per_sample": 1e3 * result.seconds_per_sample,
        "parameters": classifier.get_params() if hasattr(classifier, "get_params") else {},
        "version": __version__,
    }


def cell(key: str, value: Any) -> Cell:
    """Return a value with the words for it; numbers are rounded by what they are.

    Examples
    --------
    >>> cell("pa", 0.80449).words, cell("queried_share", 0.1).words, cell("x", float("nan")).words
    ('0.8045', '10.0%', 'none')
    """
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    rounded = key in FORMATS and number and not np.isnan(value)
    return Cell(value, format(value, FORMATS[key]) if rounded else shown(value))


def model_title(name: str) -> str:
    """Return the name of a model for readers."""
    return MODELS[name].title if name in MODELS else str(name)


def name_labels(result: PrequentialResult, model: Any, dataset: Dataset | None) -> tuple[str, ...]:
    """Return the names of the labels: those of the data, of the model, or numbers."""
    known = getattr(model, "label_names_", None) if dataset is None else dataset.label_names
    return name_all(known, "label", result.Y.shape[1])


# -- sections -------------------------------------------------------------------------------


def introduction(
    summary: Facts, result: PrequentialResult, active: ActiveLearner | None
) -> Section:
    """Say in a few sentences how the run went, and whether it is complete."""
    rows, initial = len(result.Y), summary.get("n_initial")
    start = f"{initial} rows were learned as a batch. Then " if initial is not None else ""
    if active is not None:
        asked = cell("queried_share", summary["queried_share"]).words
        how = (
            f"each was predicted first. {asked} of the "
            f"{active.unit} were asked for and learned; the budget is {active.budget:.1%}."
        )
    elif result.queried.any():
        how = "each was predicted first and learned after that."
    else:
        how = "each was predicted, and nothing was learned from them."
    parts: list[Any] = [f"{start}{rows} rows came one by one: {how}"]
    if summary.get("interrupted"):
        words = f"This run was interrupted after {rows} rows. All numbers are about these rows."
        parts.append(Text(words, "p", "note"))
    return Section("run", "", parts)


def main_numbers(summary: Facts, constant: Mapping[str, float]) -> Cards:
    """Return the main numbers large."""
    titles = {
        "pa": "partial accuracy",
        "ap": "average precision",
        "rules": "rules at the end",
        "queried_share": "labels given",
        "ms_per_sample": "ms per row",
    }
    asides = {name: f"constant: {value:.4f}" for name, value in constant.items()}
    return Cards(
        [
            (title, cell(key, summary[key]).words, asides.get(key, ""))
            for key, title in titles.items()
        ]
    )


def compared(summary: Facts) -> Section:
    """Return the table of other models, and what it shows in words."""
    lines = {
        key: [numbers.get("name", key), *(cell(name, numbers[name]) for name in COMPARED)]
        for key, numbers in summary.get("models", {}).items()
    }
    head = ["model", *COMPARED.values()]
    models = Table("models", "All models on the same rows", head, lines, numbers=True)
    parts = [models, *summary.get("findings", [])] if lines else []
    return Section("comparison", "Models compared", parts)


def draw_parts(
    figures: Mapping[str, Figure | Path],
    captions: Mapping[str, str],
    summary: Facts,
    result: PrequentialResult,
) -> list[Any]:
    """Return all figures with captions and, for those who cannot see them, their last values."""
    pa, ap = (cell(name, summary[name]).words for name in ("pa", "ap"))
    asked = cell("queried_share", summary["queried_share"]).words
    rows, rules = len(result.Y), result.rules
    described = {
        "trends": f"Two line charts over {rows} rows. At the end partial accuracy is {pa} and "
        f"average precision {ap}.",
        "rules": f"Step chart of the number of rules: {rules[0]} after the first row, at most "
        f"{rules.max()}, {rules[-1]} at the end.",
        "spending": f"Line chart of the share asked so far: {asked} at the end.",
    }
    parts = []
    for name, figure in figures.items():
        caption = captions.get(name) or CAPTIONS.get(name, name.replace("_", " "))
        alternative = caption if name in captions else described.get(name, caption)
        parts.append(picture(figure, name, caption, alternative))
    return parts


def score_labels(result: PrequentialResult) -> list[dict[str, float]]:
    """Return the numbers of every label, in order; NaN where there is none.

    "frequency" is the share of rows with the label among those where it is known, "constant_pa"
    the accuracy of the more frequent answer. F1 of one label is the micro F1 of its column. All
    but the constant answer go by what the model decided.
    """
    decided, ready = result.taken_by("pa")
    constant, lines = constant_scores(result.Y), []
    for k in range(result.Y.shape[1]):
        Y, own = result.Y[:, [k]], decided[:, [k]]
        known = ~np.isnan(Y)
        line = {
            "frequency": float(Y[known].mean()) if known.any() else np.nan,
            "pa": MEASURES["pa"](Y, own, ready=ready),
            "constant_pa": MEASURES["pa"](Y, constant[:, [k]]),
            "f1": MEASURES["micro_f1"](Y, own, ready=ready),
        }
        lines.append(line)
    return lines


def label_section(result: PrequentialResult, names: tuple[str, ...]) -> Section:
    """Return how well each label was predicted, the most frequent first."""
    scores = score_labels(result)
    order = np.argsort([-np.nan_to_num(line["frequency"]) for line in scores], kind="stable")
    lines = {
        names[k]: [names[k], *(cell(key, value) for key, value in scores[k].items())] for k in order
    }
    head = ["label", *LABEL_HEAD.values()]
    caption = "Every label by itself, the most frequent first"
    words = (
        "Frequency: share of rows with the label. PA: share of right decisions on it; constant: of "
        "always giving the more frequent answer. F1: twice the rows that have the label and were "
        "given it, divided by the rows that have it plus the rows that were given it."
    )
    return Section(
        "by-label", "Labels", [Table("labels", caption, head, lines, numbers=True), words]
    )


def rule_parts(rules: object) -> list[Any]:
    """Return rules as they are read, for each label if there are several rule bases."""
    if rules is None:
        return []
    if isinstance(rules, RuleList):
        return [Html(rules.to_html())]
    if isinstance(rules, dict):
        return [Html(part.to_html(), label) for label, part in rules.items()]
    return [Text(str(rules))]


def column_section(dataset: Dataset | None) -> Section:
    """Return what became of each column of a table, and what a person should know of it."""
    parts: list[Any] = [f"Note: {note}." for note in dataset.notes] if dataset else []
    if dataset and dataset.table:
        lines = {one.name: [one.name, Cell(one.kind, one.said)] for one in dataset.table.columns}
        title = "What became of each column"
        parts.append(Table("columns-table", title, ["column", "it is"], lines))
    return Section("columns", "Columns", parts)


def all_numbers(summary: Facts) -> Section:
    """Return all facts as a table, by the names that they have in ``summary.json``."""
    lines = {}
    for key, value in summary.items():
        if isinstance(value, dict | list | tuple) or (value is None and key not in MEASURED):
            continue  # shown elsewhere; or no budget was set, say: nothing to tell
        words = Cell(value, model_title(value)) if key == "model" else cell(key, value)
        lines[key] = [key.replace("_", " "), words]
    table = Table("numbers", "Everything in summary.json", ["what", "value"], lines)
    return Section("all", "All numbers", [table])


def parameter_section(parameters: Mapping[str, Any], classifier: Any) -> Section:
    """Return the parameters, those that are not at their defaults first."""
    known = signature(type(classifier)).parameters
    changed: dict[str, list[Any]] = {}
    usual: dict[str, list[Any]] = {}
    for name, value in parameters.items():
        default = known[name].default if name in known else None
        same = name in known and repr(value) == repr(default)
        (usual if same else changed)[name] = [name, value, "" if same else shown(default)]
    words = "All parameters have their default values."
    if changed:
        words = f"{len(changed)} of {len(parameters)} differ from their defaults; they come first."
    head = ["parameter", "value", "default"]
    table = Table("parameters", "All parameters", head, changed | usual)
    return Section("settings", "Parameters", [words, table])


def method_section(
    summary: Facts, result: PrequentialResult, constant: Mapping[str, float]
) -> Section:
    """Return what was measured, how labels were decided, what was left out, and the versions."""
    decision = summary["parameters"].get("decision", "hamming")
    rows = len(result.Y)
    unranked = int(np.isnan(average_precision_rows(result.Y, result.scores)).sum())
    unknown = int(np.isnan(result.Y).sum())
    sentences: list[Any] = [
        "Partial accuracy (PA) is the share of right decisions among all decisions on known "
        f"labels, which is 1 minus the Hamming loss. {DECIDED[decision]}",
        "Average precision (AP) ranks the labels of a row by their scores; it is the share of true "
        "labels down to each true one, averaged over the true labels of a row and then over rows. "
        f"Rows without a true label have no AP: {unranked} of {rows} are left out of it.",
        "The constant answer gives every row the same scores, the share of each label in this "
        "stream, so its decision is the majority for each label. It knows the whole stream in "
        f"advance. Its PA is {cell('pa', constant['pa']).words}, its AP "
        f"{cell('ap', constant['ap']).words}.",
    ]
    if unknown:
        sentences.append(
            f"{unknown} of {result.Y.size} labels are unknown. They count neither as right nor as "
            "wrong."
        )
    versions = {"efcml": summary["version"], "Python": platform.python_version()}
    versions |= {name: version(name) for name in PACKAGES}
    lines = {name: [name, number] for name, number in versions.items()}
    moment, machine = datetime.now(UTC), f"{platform.system()} {platform.machine()}"
    table = Table("versions", "Versions", ["package", "version"], lines)
    written = f"Written {moment:%Y-%m-%d %H:%M} UTC on {machine}."
    return Section("method", "How the numbers were made", [*sentences, table, written])
