"""Lines of other methods to compare with, and how far EFC-ML is from them.

They were measured outside this repository on the same splits: file order, initial part learned
first, then test-then-train (PA, AP by set, in the order of `SETS`). There are no records of them
here.
"""

from efcml_paper.paper_tables import MISSING, Table, file_order, short
from efcml_paper.plan import DEFAULT
from efcml_paper.scale import LARGE, SETS

SINGLE_PASS = {
    "running label frequencies": ((0.949, 0.368), (0.671, 0.582), (0.653, 0.569), (0.767, 0.705)),
    "one global plane, ridge by cross-validation": (
        (0.959, 0.668),
        (0.796, 0.810),
        (0.697, 0.658),
        (0.802, 0.756),
    ),
    "the same with 500 random Fourier features": (
        (0.959, 0.663),
        (0.808, 0.829),
        (0.701, 0.661),
        (0.804, 0.760),
    ),
    "river, best in each measure": (
        (0.953, 0.599),
        (0.801, 0.811),
        (0.719, 0.700),
        (0.798, 0.755),
    ),
    "MOA, best in each measure": ((0.953, 0.514), (0.823, 0.816), (0.725, 0.707), (0.796, 0.745)),
    "ML-kNN, window of 1000": ((0.950, 0.531), (0.799, 0.823), (0.700, 0.671), (0.797, 0.750)),
}
MANY_PASSES = {
    "BOOMER (defaults) or 500 extra-trees regressors (leaves of 2 or more), both on the"
    " initial part, best in each measure": (
        (0.962, 0.717),
        (0.811, 0.832),
        (0.681, 0.628),
        (0.811, 0.770),
    ),
    "kernel ridge retrained every 20 samples, parameters picked on the stream": (
        (0.956, 0.623),
        (0.823, 0.838),
        (0.710, 0.679),
        (0.809, 0.775),
    ),
}
LARGE_MARKS = {
    "running label frequencies": (0.9639, 0.627),
    "one global plane": (0.9694, 0.722),
    "ML-kNN, window of 1000": (0.9670, 0.693),
}
OURS = ("EFC-ML", "EFC-ML" + DEFAULT)
LEVEL = (0.005, 0.010)  # PA and AP: as good as the lines that see the data many times
EXPERIMENT = "pa-trends"


def marks_tables(findings):
    """Return our lines beside the marks, what is left to the best of them, and mediamill."""
    rows = []
    for name in OURS:
        found = [findings.line(EXPERIMENT, dataset, name) for dataset in SETS]
        cells = [MISSING if line is None else file_order(findings, line) for line in found]
        rows.append([f"**{name}**", *cells])
    for name, scores in (SINGLE_PASS | MANY_PASSES).items():
        rows.append([name, *(f"{short(pa)} / {short(ap)}" for pa, ap in scores)])
    tables = [Table("PA / AP in file order", ["model", *SETS], rows)]
    return [*tables, *(aim_table(findings, name) for name in OURS), large_table(findings)]


def aim_table(findings, name):
    """Return one of our lines minus the best mark of each kind, in points."""
    rows = []
    for title, marks, slack in (
        ("best single-pass line", SINGLE_PASS, (0.0, 0.0)),
        ("best of the others", MANY_PASSES, LEVEL),
    ):
        for column, measure in enumerate(("pa", "ap")):
            cells = []
            for place, dataset in enumerate(SETS):
                line = findings.line(EXPERIMENT, dataset, name)
                best = max(scores[place][column] for scores in marks.values())
                cells.append(aim_cell(findings, line, measure, best, slack[column]))
            rows.append([f"{title}, {measure.upper()}", *cells])
    kind = name if name.endswith(DEFAULT) else f"{name}, tuned"
    words = f"{kind}, minus the best mark, in points (aim: above; of the others within .5 PA"
    return Table(words + " and 1 AP)", ["against", *SETS], rows)


def aim_cell(findings, line, measure, best, slack):
    """Return a difference in points and whether the aim is reached."""
    if line is None:
        return MISSING
    gap = findings.numbers(line, measure)[0] - best
    return f"{100 * gap:+.1f}, {'reached' if gap > -slack else 'not reached'}"


def large_table(findings):
    """Return mediamill beside its marks."""
    rows = []
    for name in OURS:
        line = findings.line("mediamill", LARGE, name)
        both = (
            [MISSING] * 2
            if line is None
            else [short(findings.mean(line, measure), 4) for measure in ("pa", "ap")]
        )
        rows.append([f"**{name}**", *both])
    rows += [[name, short(pa, 4), short(ap, 4)] for name, (pa, ap) in LARGE_MARKS.items()]
    return Table("mediamill, file order", ["model", "PA", "AP"], rows)
