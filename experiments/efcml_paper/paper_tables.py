"""Tables of every experiment, for a terminal and for Markdown."""

from dataclasses import dataclass
from math import isfinite

from efcml.support.tables import format_table
from efcml_paper.ablation import BASE, DRIFT_LINES, PAIRS, pair_name
from efcml_paper.claims import PAPER_SECONDS
from efcml_paper.plan import BUDGETS, COMPARED, DEFAULT, NAMES, SMALL, STARTS
from efcml_paper.recovery import lead, recovered
from efcml_paper.scale import DRIFTING, LARGE, SETS

MISSING = "-"
ONE_ORDER = "one-versus-rest and chain with default parameters: file order only"


@dataclass(frozen=True)
class Table:
    """A title, the names of the columns, and rows of texts."""

    title: str
    header: list
    rows: list

    def to_markdown(self):
        """Return it as Markdown."""
        lines = [f"**{self.title}**", "", row_of(self.header), "|---" * len(self.header) + "|"]
        return "\n".join([*lines, *map(row_of, self.rows)])

    def to_text(self):
        """Return it as aligned lines."""
        return "\n".join([self.title, *format_table(self.header, self.rows)])


def row_of(cells):
    """Return one row in Markdown.

    Examples
    --------
    >>> row_of(["a", 1])
    '| a | 1 |'
    """
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def tables_of(experiment, findings):
    """Return the tables of an experiment."""
    return MAKERS[experiment](experiment, findings)


# -- cells ----------------------------------------------------------------------------------


def scores(findings, line):
    """Return PA / AP of a line, mean over its orders."""
    return f"{short(findings.mean(line, 'pa'))} / {short(findings.mean(line, 'ap'))}"


def short(value, digits=3):
    """Return a share without its leading zero.

    Examples
    --------
    >>> short(0.8041), short(1.0)
    ('.804', '1.000')
    """
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("0.") else text


def across_sets(title, findings, experiment, names, cell, first="model"):
    """Return a table with one row per line and one column per set."""
    lines = findings.lines(experiment)
    rows = []
    for name in names:
        found = [lines[dataset].get(name) for dataset in lines]
        if any(found):
            rows.append([name, *(MISSING if line is None else cell(line) for line in found)])
    return Table(title, [first, *lines], rows)


# -- experiments ----------------------------------------------------------------------------


def trend_tables(experiment, findings):
    """Return scores of all models, tuned and default, and what EFC-ML is above the others."""
    names = [NAMES[model] for model in COMPARED]
    both = names + [name + DEFAULT for name in names]
    tables = [
        across_sets(
            f"PA / AP, mean over the orders ({ONE_ORDER})",
            findings,
            experiment,
            both,
            lambda line: scores(findings, line),
        ),
        across_sets(
            "PA / AP in file order",
            findings,
            experiment,
            both,
            lambda line: file_order(findings, line),
        ),
    ]
    measure = experiment.partition("-")[0]
    return [*tables, difference_table(experiment, findings, measure, names[0], names[1:])]


def file_order(findings, line):
    """Return PA / AP of a line in file order."""
    return f"{short(findings.numbers(line, 'pa')[0])} / {short(findings.numbers(line, 'ap')[0])}"


def difference_table(experiment, findings, measure, first, others):
    """Return what one line is above others, in points, with intervals and the spread of orders."""
    title = (
        f"{first} above the others, {measure.upper()} in points [corrected interval over samples]"
        " (standard deviation over orders)"
    )
    lines = findings.lines(experiment)
    rows = []
    for other in others:
        cells = []
        for named in lines.values():
            if first in named and other in named:
                found = findings.difference(named[first], named[other], measure)
                cells.append(f"{found.in_points()} ({100 * found.spread:.2f})")
            else:
                cells.append(MISSING)
        rows.append([other, *cells])
    return Table(title, ["other", *lines], rows)


def rule_tables(experiment, findings):
    """Return how many rules there are."""
    lines = next(iter(findings.lines(experiment).values()))
    names = [name for name in lines if not name.startswith("static")]

    def cell(line):
        merges = findings.mean(line, "merges")
        return f"{findings.mean(line, 'rules'):.0f} ({merges:.0f} merges)"

    title = "rules at the end, of all labels together (merges in the stream), mean over the orders"
    return [across_sets(title, findings, experiment, names, cell)]


def active_tables(experiment, findings):
    """Return scores and shares asked of every budget, from both starts."""

    def cell(line):
        asked = findings.mean(line, "asked")
        return scores(findings, line) + ("" if asked in (0.0, 1.0) else f" ({asked:.0%})")

    tables = []
    for title, start in STARTS.items():
        names = [
            name
            for named in findings.lines(experiment).values()
            for name in named
            if name.endswith(SMALL) == (start == SMALL)
        ]
        if names:
            words = f"PA / AP (share asked), {title}, mean over the orders"
            unique = list(dict.fromkeys(names))
            tables.append(across_sets(words, findings, experiment, unique, cell, "what is learned"))
    return tables + recovery_tables(experiment, findings)


def recovery_tables(experiment, findings):
    """Return what budgets recover, from both starts; only of experiments that have budgets."""
    tables = []
    for words, start in STARTS.items():
        rows = [
            recovery_row(findings, experiment, way, budget, start)
            for budget in BUDGETS
            for way in ("random", "active")
        ]
        rows = [row for row in rows if row is not None]
        if rows:
            title = (
                f"share of the gap from static to full update that is recovered, {words}, mean of"
                " the four sets (± half of the 95 % interval over orders)"
            )
            ahead = [f"active minus random, {measure} points" for measure in ("PA", "AP")]
            tables.append(Table(title, ["what is learned", "PA", "AP", *ahead], rows))
    return tables


def recovery_row(findings, experiment, way, budget, start):
    """Return what one way of asking recovers, and for the active one its lead; None if not run."""
    name = f"{way} {budget:.0%}"
    shares = recovered(findings, experiment, name, start)
    if shares is None:
        return None
    points = lead(findings, experiment, budget, start) if way == "active" else None
    ahead = ["", ""] if points is None else [mean_and_half(pair, "+.2f") for pair in points]
    return [name, *(mean_and_half(pair, ".2f") for pair in shares), *ahead]


def mean_and_half(pair, form):
    """Return a mean with the half width of its interval, which one order does not have.

    Examples
    --------
    >>> mean_and_half((0.5, 0.04), ".2f"), mean_and_half((0.5, float("nan")), "+.2f")
    ('0.50 ± 0.04', '+0.50')
    """
    mean, half = pair
    if not isfinite(mean):  # there is no gap
        return MISSING
    return f"{mean:{form}} ± {half:.2f}" if isfinite(half) else f"{mean:{form}}"


def large_tables(experiment, findings):
    """Return scores, rules and time on mediamill."""
    rows = []
    for name, line in findings.lines(experiment)[LARGE].items():
        pa, ap, rules, asked, time = (
            findings.mean(line, field) for field in ("pa", "ap", "rules", "asked", "ms_per_sample")
        )
        rows.append(
            [name, short(pa, 4), short(ap, 4), f"{rules:.0f}", f"{100 * asked:.0f}", f"{time:.3g}"]
        )
    header = ["model", "PA", "AP", "rules", "% learned", "ms/sample"]
    return [Table("mediamill, file order", header, rows)]


def speed_tables(experiment, findings):
    """Return seconds per update beside those of the paper."""
    rows = []
    for dataset, lines in findings.lines(experiment).items():
        for place, name in enumerate(NAMES[model] for model in ("efcml", "ovr", "chain")):
            if name in lines:
                seconds = 1e-3 * findings.mean(lines[name], "ms_per_sample")
                paper = PAPER_SECONDS[dataset][place]
                rows.append(
                    [
                        dataset,
                        name,
                        f"{seconds:.5f}",
                        f"{paper:.3f}",
                        f"{paper / seconds:.0f}",
                        f"{findings.mean(lines[name], 'rules'):.0f}",
                    ]
                )
    header = ["set", "model", "seconds", "paper", "times faster", "rules"]
    return [Table("seconds per sample, predicted and learned, one process", header, rows)]


def ablation_tables(experiment, findings):
    """Return what every change costs, what pairs add, and forgetting on a drifting stream."""
    names = [name for name in findings.lines(experiment)[SETS[0]] if " + " not in name]
    tables = [
        change_table(
            findings,
            measure,
            names,
            SETS,
            f"changed minus default, {measure.upper()} in points [corrected interval]",
        )
        for measure in ("pa", "ap")
    ]
    tables.append(pair_table(findings))
    for measure in ("pa", "ap"):
        words = f"the same on a stream that drifts ({DRIFTING}), {measure.upper()}"
        tables.append(change_table(findings, measure, DRIFT_LINES, (DRIFTING,), words))
    return tables


def change_table(findings, measure, names, sets, title):
    """Return changed minus default for every line and set."""
    lines = findings.lines("ablation")
    rows = []
    for name in names:
        cells = []
        for dataset in sets:
            pair = [lines[dataset].get(key) for key in (name, BASE)]
            known = None not in pair and name != BASE
            cells.append(findings.difference(*pair, measure).in_points() if known else MISSING)
        if name != BASE:
            rows.append([name, *cells])
    return Table(title, ["changed", *sets], rows)


def pair_table(findings):
    """Return what two changes together do beyond the sum of both, in PA."""
    lines, rows = findings.lines("ablation"), []
    for pair in PAIRS:
        cells = []
        for dataset in SETS:
            found = [lines[dataset].get(key) for key in (pair_name(pair), *pair, BASE)]
            whole = None not in found
            together = findings.combine(found, (1, -1, -1, 1), "pa") if whole else None
            cells.append(together.in_points() if whole else MISSING)
        rows.append([pair_name(pair), *cells])
    return Table("both changes beyond the sum of each, PA in points", ["changed", *SETS], rows)


MAKERS = {
    "pa-trends": trend_tables,
    "ap-trends": trend_tables,
    "rule-counts": rule_tables,
    "mediamill": large_tables,
    "al-labels": active_tables,
    "al-samples": active_tables,
    "al-instability": active_tables,
    "al-mediamill": large_tables,
    "speed": speed_tables,
    "ablation": ablation_tables,
}
