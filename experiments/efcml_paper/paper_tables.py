"""Tables of every experiment, for a terminal and for Markdown."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from efcml.cli.shared import format_table
from efcml.studies.intervals import LEVEL
from efcml_paper.ablation import BASE, DRIFT_LINES, PAIRS
from efcml_paper.claims import PAPER_SECONDS, TIMED
from efcml_paper.plan import BUDGETS, COMPARED, DEFAULT, NAMES, SMALL, STARTS
from efcml_paper.scale import DRIFTING, LARGE, SETS

MISSING = "-"
MEASURES = ("pa", "ap")
ONE_ORDER = "one-versus-rest and chain with default parameters: file order only"


@dataclass(frozen=True)
class Table:
    """A title, the names of the columns, and rows of texts."""

    title: str
    header: list
    rows: list

    def to_markdown(self):
        """Return it as Markdown."""
        rule = "|---" * len(self.header) + "|"
        return "\n".join(
            [f"**{self.title}**", "", row_of(self.header), rule, *map(row_of, self.rows)]
        )

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


def as_markdown(tables):
    """Return tables below each other."""
    return "\n\n".join(table.to_markdown() for table in tables)


def grid(title, first, names, sets, cell):
    """Return a table with a row per name and a column per set; cells may be None."""
    rows = [[name, *(cell(name, dataset) or MISSING for dataset in sets)] for name in names]
    return Table(title, [first, *sets], rows)


def cells(findings, experiment, write, *more):
    """Return what writes the cell of a line on a set; ``more`` lines go to ``write`` with it."""

    def cell(name, dataset):
        lines = findings.pick(experiment, dataset, name, *more)
        return lines and write(*lines)

    return cell


# -- cells ----------------------------------------------------------------------------------


def short(value, digits=3):
    """Return a share without its leading zero.

    Examples
    --------
    >>> short(0.8041), short(1.0)
    ('.804', '1.000')
    """
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("0.") else text


def scores(findings, line):
    """Return PA / AP of a line, mean over its orders."""
    return " / ".join(short(findings.mean(line, measure)) for measure in MEASURES)


def file_order(findings, line):
    """Return PA / AP of a line in file order."""
    return " / ".join(short(findings.numbers(line, measure)[0]) for measure in MEASURES)


def mean_and_half(values, form):
    """Return a mean over orders with half of its 95 % interval, which one order does not have.

    Examples
    --------
    >>> mean_and_half([1.0, 2.0, 3.0], ".2f"), mean_and_half([0.5], "+.2f")
    ('2.00 ± 2.48', '+0.50')
    """
    from scipy.stats import t as student  # takes a second to import

    n, mean = len(values), np.mean(values)
    if not np.isfinite(mean):  # there is no gap
        return MISSING
    if n == 1:
        return f"{mean:{form}}"
    half = student.ppf(0.5 + LEVEL / 2, n - 1) * np.std(values, ddof=1) / np.sqrt(n)
    return f"{mean:{form}} ± {half:.2f}"


# -- experiments ----------------------------------------------------------------------------


def trend_tables(experiment, findings):
    """Return scores of all models, tuned and default, and what EFC-ML is above the others."""
    names, sets = [NAMES[model] for model in COMPARED], findings.lines(experiment)
    both, measure = names + [name + DEFAULT for name in names], experiment[:2]

    def lead(other, first):
        found = findings.difference(first, other, measure)
        return f"{found.in_points()} ({100 * found.spread:.2f})"

    mean = f"PA / AP, mean over the orders ({ONE_ORDER})"
    tables = [
        grid(title, "model", both, sets, cells(findings, experiment, partial(write, findings)))
        for title, write in ((mean, scores), ("PA / AP in file order", file_order))
    ]
    title = (
        f"{names[0]} above the others, {measure.upper()} in points [corrected interval over"
        " samples] (standard deviation over orders)"
    )
    leads = cells(findings, experiment, lead, names[0])
    return [*tables, grid(title, "other", names[1:], sets, leads)]


def rule_tables(experiment, findings):
    """Return how many rules there are."""
    sets = findings.lines(experiment)
    names = [name for name in next(iter(sets.values())) if not name.startswith("static")]

    def cell(line):
        merges = findings.mean(line, "merges")
        return f"{findings.mean(line, 'rules'):.0f} ({merges:.0f} merges)"

    title = "rules at the end, of all labels together (merges in the stream), mean over the orders"
    return [grid(title, "model", names, sets, cells(findings, experiment, cell))]


def active_tables(experiment, findings):
    """Return scores and shares asked of every budget, from both starts, and what is recovered."""

    def cell(line):
        asked = findings.mean(line, "asked")
        return scores(findings, line) + ("" if asked in (0.0, 1.0) else f" ({asked:.0%})")

    tables, sets = [], findings.lines(experiment)
    known = dict.fromkeys(name for named in sets.values() for name in named)
    for words, start in STARTS.items():
        names = [name for name in known if name.endswith(SMALL) == bool(start)]
        title = f"PA / AP (share asked), {words}, mean over the orders"
        write = cells(findings, experiment, cell)
        tables += [grid(title, "what is learned", names, sets, write)] if names else []
    return tables + recovery_tables(experiment, findings)


def recovery_tables(experiment, findings):
    """Return the share that budgets recover of the gap from learning nothing to everything.

    Both differences are averaged over the sets first: a set with hardly a gap would otherwise
    decide. There are none of experiments without budgets.
    """
    title = (
        "share of the gap from static to full update that is recovered, {}, mean of the four sets"
        " (± half of the 95 % interval over orders)"
    )
    ahead = [f"active minus random, {measure} points" for measure in ("PA", "AP")]
    header, tables = ["what is learned", "PA", "AP", *ahead], []
    names = [f"{way} {budget:.0%}" for budget in BUDGETS for way in ("random", "active")]
    for words, start in STARTS.items():
        own = [name + start for name in ("static", "full update", *names)]
        lines = [findings.pick(experiment, dataset, *own) for dataset in SETS]
        if all(lines):
            rows = recovery_rows(findings, names, lines)
            tables.append(Table(title.format(words), header, rows))
    return tables


def recovery_rows(findings, names, lines):
    """Return what each way of asking recovers, and the lead of the active one in points.

    Of every set, ``lines`` has static, full update, and then the names.
    """
    values = [[[findings.numbers(line, m) for m in MEASURES] for line in own] for own in lines]
    static, full, *found = np.mean(values, axis=0)  # both measures in every order
    rows = []
    for place, (name, line) in enumerate(zip(names, found, strict=True)):
        with np.errstate(divide="ignore", invalid="ignore"):  # there may be no gap
            shares = (line - static) / (full - static)
        leads = 100.0 * (line - found[place - 1]) if name.startswith("active") else ()
        ahead = [mean_and_half(points, "+.2f") for points in leads] or ["", ""]
        rows.append([name, *(mean_and_half(share, ".2f") for share in shares), *ahead])
    return rows


def large_tables(experiment, findings):
    """Return scores, rules and time on mediamill."""
    rows = []
    for name, line in findings.lines(experiment)[LARGE].items():
        fields = ("pa", "ap", "rules", "asked", "ms_per_sample")
        pa, ap, rules, asked, time = (findings.mean(line, field) for field in fields)
        counts = f"{rules:.0f}", f"{100 * asked:.0f}", f"{time:.3g}"
        rows.append([name, short(pa, 4), short(ap, 4), *counts])
    header = ["model", "PA", "AP", "rules", "% learned", "ms/sample"]
    return [Table("mediamill, file order", header, rows)]


def speed_tables(experiment, findings):
    """Return seconds per update beside those of the paper."""
    rows = []
    for dataset, lines in findings.lines(experiment).items():
        for name, paper in zip(TIMED, PAPER_SECONDS[dataset], strict=True):
            if name in lines:
                seconds = 1e-3 * findings.mean(lines[name], "ms_per_sample")
                times = f"{seconds:.5f}", f"{paper:.3f}", f"{paper / seconds:.0f}"
                rows.append([dataset, name, *times, f"{findings.mean(lines[name], 'rules'):.0f}"])
    header = ["set", "model", "seconds", "paper", "times faster", "rules"]
    return [Table("seconds per sample, predicted and learned, one process", header, rows)]


def ablation_tables(experiment, findings):
    """Return what every change costs, what pairs add, and forgetting on a drifting stream."""
    names = [name for name in findings.lines(experiment)[SETS[0]] if " + " not in name]

    def changed(title, measure, names, sets):
        def write(line, base):
            return findings.difference(line, base, measure).in_points()

        own = [name for name in names if name != BASE]
        return grid(title, "changed", own, sets, cells(findings, experiment, write, BASE))

    def beyond(name, dataset):
        lines = findings.pick(experiment, dataset, name, *name.split(" + "), BASE)
        return lines and findings.combine(lines, (1, -1, -1, 1), "pa").in_points()

    first = "changed minus default, {} in points [corrected interval]"
    second = f"the same on a stream that drifts ({DRIFTING}), {{}}"
    title = "both changes beyond the sum of each, PA in points"
    return [
        *(changed(first.format(m.upper()), m, names, SETS) for m in MEASURES),
        grid(title, "changed", PAIRS, SETS, beyond),
        *(changed(second.format(m.upper()), m, DRIFT_LINES, (DRIFTING,)) for m in MEASURES),
    ]
