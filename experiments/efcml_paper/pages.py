"""What the documentation shows of committed records."""

from collections import Counter
from pathlib import Path

from efcml.plots import save_figure
from efcml_paper.claims import CLAIMS, N_CHECKS
from efcml_paper.findings import Findings
from efcml_paper.marks import marks_tables
from efcml_paper.paper_tables import Table, as_markdown, recovery_tables
from efcml_paper.plan import RIVALS, SMALL, Plan
from efcml_paper.run_records import Records
from efcml_paper.scale import FULL
from efcml_paper.shown import SHOWN, figures_of, tables_of
from efcml_paper.tuned import read_choices
from efcml_paper.verdicts import count_verdicts, judge_all, verdict_tables

PICTURES = (
    "pa-trends ap-trends rule-counts mediamill al-labels al-labels-small al-samples"
    " al-samples-small al-instability-labels al-instability-samples al-mediamill ablation"
).split()
NOTHING = "There are no records yet: `efcml reproduce all --out experiments/results/reproduce`."


def read_findings(folder, scale=FULL):
    """Return what the records of a folder say; None if there are none."""
    folder = Path(folder) / "records"
    records = Records(folder / "runs.jsonl")
    if not records.by_key:
        return None
    return Findings(Plan(scale, read_choices(folder), records), N_CHECKS)


def part(make):
    """Return a maker of texts that says so if there are no records."""

    def say(findings, *more):
        return NOTHING if findings is None else "\n\n".join(make(findings, *more))

    return say


@part
def verdict_part(findings):
    """Return how many claims hold, and all verdicts: of the paper, then from the small start."""
    for title, start in (("what the paper says", ""), ("the same from the small start", SMALL)):
        judged = judge_all([claim for claim in CLAIMS if claim.start == start], findings)
        yield count_verdicts(judged)
        yield as_markdown(verdict_tables(judged, title))


@part
def marks_part(findings):
    """Return the lines of other methods beside ours."""
    return [as_markdown(marks_tables(findings))]


@part
def tables_part(findings, pictures=()):
    """Return tables and pictures of all experiments that are recorded, and how they were made.

    A table that several experiments have is shown once. ``pictures`` are files, named by
    `picture_name`, in the folder of the page's pictures.
    """
    yield origin(findings)
    yield tuned_table(findings).to_markdown()
    shown = set()
    for experiment in (name for name in SHOWN if name in findings.recorded_ids):
        yield f"### {experiment}"
        for name in PICTURES:
            if name.startswith(experiment) and picture_name(name) in pictures:
                yield f"![{name}](../images/{picture_name(name)})"
        tables = [table.to_markdown() for table in tables_of(experiment, findings)]
        yield from (table for table in tables if table not in shown)
        shown.update(tables)


@part
def recovery_part(findings):
    """Return what budgets recover, in samples and in single labels."""
    for experiment, words in (("al-samples", "Whole samples"), ("al-labels", "Single labels")):
        tables = recovery_tables(experiment, findings)
        if tables:
            yield f"## {words}"
            yield as_markdown(tables)


def picture_name(name):
    """Return the file name of a figure on the page."""
    return f"paper-{name}.svg"


def draw_pictures(findings, folder):
    """Draw the figures of the page into a folder; return their names."""
    drawn = []
    for experiment in findings.recorded_ids:
        for name, figure in figures_of(experiment, findings).items():
            if name in PICTURES:
                save_figure(figure, Path(folder) / f"paper-{name}", kinds=("svg",))
                drawn.append(picture_name(name))
    return drawn


def origin(findings):
    """Return by which versions and methods, and where, the records were made."""
    made = findings.methods
    words = ", ".join(f"efcml {version} (method {method})" for version, method in made)
    mixed = "" if len(made) == 1 else " The records are mixed: some are older than the method."
    kinds = Counter(record["machine"]["kind"] for record in findings.records.by_key.values())
    where = ", ".join(f"{count} on {kind}" for kind, count in kinds.items())
    return f"{kinds.total()} runs by {words}; {where}.{mixed}"


def tuned_table(findings):
    """Return what was chosen on the initial parts."""
    plan, rows = findings.plan, []
    for dataset in sorted(plan.choices):
        for model in ("efcml", *RIVALS):
            chosen = plan.tuned(dataset, model)
            if chosen is not None:
                words = ", ".join(f"{name} {value}" for name, value in sorted(chosen.items()))
                rows.append([dataset, model, words])
    return Table("chosen on the initial parts", ["set", "model", "parameters"], rows)
