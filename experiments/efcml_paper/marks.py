"""Lines of other methods to compare with, and how far EFC-ML is from them.

They were measured outside this repository on the same splits: file order, initial part learned
first, then test-then-train. There are no records of them here.
"""

from functools import partial

from efcml_paper.paper_tables import MEASURES, MISSING, Table, cells, file_order, grid, short
from efcml_paper.plan import DEFAULT
from efcml_paper.scale import LARGE, SETS


def read_marks(text):
    """Return (PA, AP) of every method; lines are its name, then both for each set."""
    rows = (row.split(" | ") for row in text.strip().splitlines())
    return {name: [tuple(map(float, cell.split())) for cell in given] for name, *given in rows}


# PA and AP by set, in the order of `SETS`.
SINGLE_PASS = read_marks("""
running label frequencies | .949 .368 | .671 .582 | .653 .569 | .767 .705
one global plane, ridge by cross-validation | .959 .668 | .796 .810 | .697 .658 | .802 .756
the same with 500 random Fourier features | .959 .663 | .808 .829 | .701 .661 | .804 .760
river, best in each measure | .953 .599 | .801 .811 | .719 .700 | .798 .755
MOA, best in each measure | .953 .514 | .823 .816 | .725 .707 | .796 .745
ML-kNN, window of 1000 | .950 .531 | .799 .823 | .700 .671 | .797 .750
""")
MANY_PASSES = read_marks("""
BOOMER (defaults) or 500 extra-trees regressors (leaves of 2 or more), both on the \
initial part, best in each measure | .962 .717 | .811 .832 | .681 .628 | .811 .770
kernel ridge retrained every 20 samples, parameters picked on the stream \
| .956 .623 | .823 .838 | .710 .679 | .809 .775
""")
LARGE_MARKS = read_marks("""
running label frequencies | .9639 .627
one global plane | .9694 .722
ML-kNN, window of 1000 | .9670 .693
""")
OURS = ("EFC-ML", "EFC-ML" + DEFAULT)
AIMS = {  # what else counts as good: PA and AP
    "best single-pass line": (SINGLE_PASS, (0.0, 0.0)),
    "best of the others": (MANY_PASSES, (0.005, 0.010)),
}
EXPERIMENT = "pa-trends"


def marks_tables(findings):
    """Return our lines beside the marks, what is left to the best of them, and mediamill."""
    ours = grid("", "", OURS, SETS, cells(findings, EXPERIMENT, partial(file_order, findings)))
    rows = [[f"**{name}**", *own] for name, *own in ours.rows]
    for name, scores in (SINGLE_PASS | MANY_PASSES).items():
        rows.append([name, *(f"{short(pa)} / {short(ap)}" for pa, ap in scores)])
    tables = [Table("PA / AP in file order", ["model", *SETS], rows)]
    return [*tables, *(aim_table(findings, name) for name in OURS), large_table(findings)]


def aim_table(findings, name):
    """Return one of our lines minus the best mark of each kind, in points."""
    rows = []
    for title, (marks, slack) in AIMS.items():
        for column, measure in enumerate(MEASURES):
            own = [f"{title}, {measure.upper()}"]
            for place, dataset in enumerate(SETS):
                best = max(scores[place][column] for scores in marks.values())
                lines = findings.pick(EXPERIMENT, dataset, name)
                gap = findings.numbers(lines[0], measure)[0] - best if lines else None
                own.append(aim_cell(gap, slack[column]))
            rows.append(own)
    kind = name if name.endswith(DEFAULT) else f"{name}, tuned"
    words = f"{kind}, minus the best mark, in points (aim: above; of the others within .5 PA"
    return Table(words + " and 1 AP)", ["against", *SETS], rows)


def aim_cell(gap, slack):
    """Return a difference in points and whether the aim is reached.

    Examples
    --------
    >>> aim_cell(-0.004, 0.005), aim_cell(-0.006, 0.005), aim_cell(None, 0.0)
    ('-0.4, reached', '-0.6, not reached', '-')
    """
    if gap is None:
        return MISSING
    return f"{100 * gap:+.1f}, {'reached' if gap > -slack else 'not reached'}"


def large_table(findings):
    """Return mediamill beside its marks."""
    rows = []
    for name in OURS:
        lines = findings.pick("mediamill", LARGE, name) or []
        both = [short(findings.mean(line, m), 4) for line in lines for m in MEASURES]
        rows.append([f"**{name}**", *(both or [MISSING] * 2)])
    for name, [(pa, ap)] in LARGE_MARKS.items():
        rows.append([name, short(pa, 4), short(ap, 4)])
    return Table("mediamill, file order", ["model", "PA", "AP"], rows)
