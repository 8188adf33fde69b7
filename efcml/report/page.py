"""The page itself: sections, and the file."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from efcml.explain import RuleList
from efcml.report import sentences
from efcml.report.figures import draw_run
from efcml.report.labels import COLUMNS, name_labels, score_labels
from efcml.report.look import STYLE
from efcml.report.parts import cell, paragraphs, table
from efcml.report.pictures import embed_figure
from efcml.support.folders import replacing
from efcml.support.markup import escape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from efcml.active import ActiveLearner
    from efcml.datasets import Dataset
    from efcml.evaluation import PrequentialResult
    from efcml.support.aliases import Facts, PathLike

NEEDED = (
    "dataset",
    "model",
    "n_initial",
    "n_stream",
    "pa",
    "ap",
    "rules",
    "queried_share",
    "ms_per_sample",
    "parameters",
    "version",
)
COMPARED = {
    "pa": "PA",
    "ap": "AP",
    "rules": "rules",
    "births": "births",
    "splits": "splits",
    "merges": "merges",
    "ms_per_sample": "ms/row",
}
PACKAGES = ("numpy", "numba", "scipy", "scikit-learn", "matplotlib")
# Nothing may be loaded and nothing may run, whatever names the data have.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def write_report(
    path: PathLike,
    *,
    summary: Facts,
    result: PrequentialResult,
    classifier: Any,
    active: ActiveLearner | None = None,
    dataset: Dataset | None = None,
    figures: Mapping[str, Figure] | None = None,
    captions: Mapping[str, str] | None = None,
    rules: object = None,
) -> Path:
    """Write one self-contained HTML page about a run.

    The file is complete or not there: an older one is replaced at the end.

    Parameters
    ----------
    path : str or path
    summary : dict
        What goes to ``summary.json``. Every number, word and truth value in it is shown; None is
        not. "parameters" become a table, and so do "models", a dict of such dicts to compare with.
        "findings" are sentences to show.
    result : PrequentialResult
    classifier : estimator
        As it is after the run.
    active : ActiveLearner, optional
        The one that asked for the labels of the run.
    dataset : Dataset, optional
        Where the rows came from; its drifts are marked.
    figures : dict of str to Figure, optional
        Those of `draw_run` if not given.
    captions : dict of str to str, optional
        Captions of further figures, by their names.
    rules : RuleList, dict of str to RuleList, or object, optional
        The rules, as a table; of each label if there are several rule bases. Of any other object
        its ``str()`` is shown.

    Returns
    -------
    Path

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from efcml import EFCMLClassifier, __version__, datasets, prequential
    >>> ds = datasets.load("drifting-clusters", n=120, n_initial=60)
    >>> clf = EFCMLClassifier(prior=1.0).fit(*ds.initial)
    >>> result = prequential(clf, *ds.stream)
    >>> summary = {
    ...     "dataset": ds.name, "model": "efcml", "n_initial": 60, "n_stream": 60,
    ...     "pa": result.pa, "ap": result.ap, "rules": clf.n_rules_, "queried_share": 1.0,
    ...     "ms_per_sample": 1e3 * result.seconds_per_sample, "parameters": clf.get_params(),
    ...     "version": __version__,
    ... }
    >>> with TemporaryDirectory() as folder:
    ...     path = write_report(
    ...         Path(folder) / "report.html", summary=summary, result=result, classifier=clf
    ...     )
    ...     path.read_text()[:15]
    '<!DOCTYPE html>'
    """
    missing = [name for name in NEEDED if name not in summary]
    if missing:
        raise ValueError(f"summary lacks {', '.join(missing)}: a report needs them.")
    if not len(result.Y):
        raise ValueError("the run has no rows: there is nothing to report.")
    if figures is None:
        figures = draw_run(result, classifier, active, dataset=dataset)
    constant = sentences.constant_answer(result)
    sections = [
        summary_section(summary, constant),
        comparison_section(summary),
        figure_section(figures, captions or {}, summary, result),
        label_section(result, name_labels(result, classifier, dataset)),
        rule_section(rules),
        column_section(dataset),
        number_section(summary),
        parameter_section(summary["parameters"], classifier),
        method_section(summary, result, constant),
    ]
    introduction = paragraphs([sentences.tell_run(summary, result, active)])
    warning = sentences.tell_interruption(summary, result)
    if warning:
        introduction += f'\n<p class="note"><strong>{escape(warning)}</strong></p>'
    body = "\n".join([introduction, *filter(None, sections)])
    text = fill_page(sentences.headline(summary), summary["version"], body)
    with replacing(path) as file:  # names of files can hold what UTF-8 cannot
        file.write(text.encode("utf-8", "backslashreplace"))
    return Path(path)


def fill_page(title: str, made_by: str, body: str) -> str:
    """Return the whole page."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="efcml {escape(made_by)}">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{body}
</main>
</body>
</html>
"""


def section(name: str, title: str, content: str) -> str:
    """Return a section with its heading."""
    return f'<section id="{name}">\n<h2>{escape(title)}</h2>\n{content}\n</section>'


def summary_section(summary: Facts, constant: Mapping[str, float]) -> str:
    """Return the main numbers large."""
    cards = []
    for key, name in (
        ("pa", "partial accuracy"),
        ("ap", "average precision"),
        ("rules", "rules at the end"),
        ("queried_share", "labels given"),
        ("ms_per_sample", "ms per row"),
    ):
        aside = f"<small>constant: {constant[key]:.4f}</small>" if key in constant else ""
        shown = sentences.show(key, summary[key])
        cards.append(f"<div><dt>{name}</dt><dd><strong>{escape(shown)}</strong>{aside}</dd></div>")
    return section("summary", "Summary", f"<dl>{''.join(cards)}</dl>")


def number_section(summary: Facts) -> str:
    """Return all numbers as a table."""
    lines = []
    for key in sorted(summary, key=order_of):
        value = summary[key]
        if value is None and key not in COMPARED:
            continue  # no budget was set, say: nothing to tell
        if not isinstance(value, dict | list | tuple):
            shown = sentences.model_title(value) if key == "model" else sentences.show(key, value)
            lines.append((key, sentences.TITLES.get(key, key), cell(value, shown)))
    every = table("numbers", "Everything in summary.json", ["what", "value"], lines)
    return section("all", "All numbers", every)


def order_of(key: str) -> int:
    """Return the place of a number in the table; those that are not known come last."""
    known = list(sentences.TITLES)
    return known.index(key) if key in known else len(known)


def comparison_section(summary: Facts) -> str:
    """Return the table of other models, and what it shows in words."""
    if "models" not in summary:
        return ""
    lines = []
    for key, numbers in summary["models"].items():
        cells = [cell(numbers[name], sentences.show(name, numbers[name])) for name in COMPARED]
        lines.append((key, numbers.get("name", key), "".join(cells)))
    compared = table("models", "All models on the same rows", ["model", *COMPARED.values()], lines)
    found = paragraphs(summary.get("findings", []))
    return section("comparison", "Models compared", f"{compared}\n{found}")


def figure_section(
    figures: Mapping[str, Figure],
    captions: Mapping[str, str],
    summary: Facts,
    result: PrequentialResult,
) -> str:
    """Return all figures with captions."""
    parts = []
    for name, figure in figures.items():
        caption = captions.get(name) or sentences.CAPTIONS.get(name, name.replace("_", " "))
        alternative = caption if name in captions else sentences.describe(name, summary, result)
        parts.append(
            f'<figure id="figure-{escape(name)}">\n{embed_figure(figure, alternative or caption)}\n'
            f"<figcaption>{escape(caption)}</figcaption>\n</figure>"
        )
    return section("figures", "Figures", "\n".join(parts)) if parts else ""


def label_section(result: PrequentialResult, names: Sequence[str]) -> str:
    """Return how well each label was predicted, the most frequent first."""
    numbers = score_labels(result)
    order = sorted(range(len(names)), key=lambda label: -(numbers[label]["frequency"] or 0.0))
    lines = [
        (
            names[i],
            names[i],
            "".join(cell(n, sentences.show(key, n)) for key, n in numbers[i].items()),
        )
        for i in order
    ]
    listed = table("labels", sentences.LABELS_CAPTION, ["label", *COLUMNS.values()], lines)
    return section("by-label", "Labels", f"{listed}\n{paragraphs([sentences.LABELS_MEAN])}")


def rule_section(rules: object) -> str:
    """Return the rules as tables, or anything else as text."""
    if rules is None:
        return ""
    if isinstance(rules, RuleList):
        content = rule_table(rules)
    elif isinstance(rules, dict):
        content = "\n".join(
            f"<h3>{escape(label)}</h3>\n{rule_table(part)}" for label, part in rules.items()
        )
    else:
        content = f"<pre>{escape(rules)}</pre>"
    return section("rules", "Rules at the end", content)


def rule_table(rules: RuleList) -> str:
    """Return rules as a notebook shows them."""
    return f'<div class="wide rule-table">{rules.to_html()}</div>'


def column_section(dataset: Dataset | None) -> str:
    """Return what became of each column of a table, and what a person should know of it."""
    content = [paragraphs(f"Note: {note}." for note in dataset.notes)] if dataset else []
    if dataset and dataset.table:
        columns = dataset.table.columns
        lines = [(one.name, one.name, cell(one.kind, one.said)) for one in columns]
        title = "What became of each column"
        content.append(table("columns-table", title, ["column", "it is"], lines))
    return section("columns", "Columns", "\n".join(content)) if any(content) else ""


def parameter_section(parameters: Mapping[str, Any], classifier: Any) -> str:
    """Return the parameters, those that are not at their defaults first."""
    known = signature(type(classifier)).parameters
    changed: list[tuple[str, str, str]] = []
    usual: list[tuple[str, str, str]] = []
    for name, value in parameters.items():
        default = known[name].default if name in known else None
        beside = "" if value == default else sentences.show(name, default)
        cells = cell(value, sentences.show(name, value)) + f"<td>{escape(beside)}</td>"
        (usual if value == default else changed).append((name, name, cells))
    said = "All parameters have their default values."
    if changed:
        said = f"{len(changed)} of {len(parameters)} differ from their defaults; they come first."
    listed = table(
        "parameters", "All parameters", ["parameter", "value", "default"], changed + usual
    )
    return section("settings", "Parameters", f"{paragraphs([said])}\n{listed}")


def method_section(summary: Facts, result: PrequentialResult, constant: Mapping[str, float]) -> str:
    """Return what was measured, and with which versions."""
    versions = {"efcml": summary["version"], "Python": platform.python_version()}
    versions |= {name: version(name) for name in PACKAGES}
    lines = [(name, name, f"<td>{escape(number)}</td>") for name, number in versions.items()]
    moment, machine = datetime.now(UTC), f"{platform.system()} {platform.machine()}"
    written = (
        f'<p>Written <time datetime="{moment.isoformat(timespec="seconds")}">'
        f"{moment:%Y-%m-%d %H:%M} UTC</time> on {escape(machine)}.</p>"
    )
    told = paragraphs(sentences.tell_measures(summary, result, constant))
    found = table("versions", "Versions", ["package", "version"], lines)
    return section("method", "How the numbers were made", f"{told}\n{found}\n{written}")
