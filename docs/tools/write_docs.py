"""Write the generated tables of README.md and docs/; ``--check`` only compares.

A table stands between ``<!-- name:begin -->`` and ``<!-- name:end -->``. What is outside is text
and stays as it is.
"""

import argparse
import subprocess
import sys
from functools import cache, partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from decision_tables import (
    moved_scales_table,
    named_features_table,
    parts_table,
    rivals_table,
    synthetic_table,
)
from folded_tables import fold
from following_tables import detection_table, forgetting_table, time_table
from gaps_tables import missing_features_differences, missing_features_table
from peer_tables import COMPARISON_PARTS, LEAK, SCORES, readme_table
from peer_tables import PARTS as PEER_PARTS
from record_age import age_note
from soak_tables import LONG_STREAMS, drift_cycles_table, long_streams_table
from speed_tables import PARTS, active_part, speed_part
from together_tables import PARTS as TOGETHER_PARTS
from together_tables import by_label_table, filled_table

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENTS = "experiments/results/reproduce"
PAPER_RECORDS = (f"{EXPERIMENTS}/records/runs.jsonl", f"{EXPERIMENTS}/records/tuned.json")
RESULTS = "experiments/results/decisions/"
RECORDS = {  # by page: the records it was made from; what of them is not new is said at its head
    "README.md": (*PAPER_RECORDS, SCORES),
    "docs/active.md": ("experiments/results/benchmarks/active_speed.json",),
    "docs/comparison.md": (SCORES,),
    "docs/speed.md": ("experiments/results/benchmarks/*.json",),
    "docs/reading.md": (RESULTS + "named-features.jsonl",),
    "docs/reliability.md": (LONG_STREAMS,),
    "docs/results/active.md": PAPER_RECORDS[:1],
    "docs/results/following.md": (RESULTS + "following.jsonl", RESULTS + "drift-detection.jsonl"),
    "docs/results/labels_together.md": (
        RESULTS + "labels-together.jsonl",
        RESULTS + "few-and-late-labels.jsonl",
        RESULTS + "errors-teach.jsonl",
        "experiments/results/benchmarks/labels_speed.json",
    ),
    "docs/results/missing_features.md": (RESULTS + "missing-features.jsonl",),
    "docs/results/paper.md": PAPER_RECORDS,
    "docs/results/peers.md": (SCORES, LEAK),
    "docs/results/parts.md": (RESULTS + "parts.jsonl",),
    "docs/results/rivals.md": (RESULTS + "rivals.jsonl",),
    "docs/results/synthetic.md": (RESULTS + "synthetic.json",),
    "docs/decisions/0001-defaults.md": (
        RESULTS + "defaults-[1-3].jsonl",
        RESULTS + "inside-rivals.jsonl",
        RESULTS + "grid.jsonl",
    ),
    "docs/decisions/0007-activation-by-density.md": (RESULTS + "defaults-[45].jsonl",),
    "docs/decisions/0010-birth-plane.md": (RESULTS + "birth-planes-*.jsonl",),
    "docs/decisions/0014-cases.md": (RESULTS + "cases-*.jsonl",),
    "docs/decisions/0015-work-that-waits.md": (RESULTS + "lazy-steps.jsonl",),
    "docs/decisions/0016-fewer-rules.md": (RESULTS + "rule-count-*.jsonl",),
    "docs/decisions/0021-rules-that-decide.md": (RESULTS + "rules-that-decide*.jsonl",),
    "docs/decisions/0023-two-memories.md": (RESULTS + "following.jsonl",),
    "docs/decisions/0024-scale-that-follows.md": (RESULTS + "moved-scales.jsonl",),
    "docs/decisions/0025-from-the-first-row.md": (RESULTS + "from-nothing.jsonl",),
    "docs/decisions/0026-what-errors-teach.md": (
        RESULTS + "errors-teach.jsonl",
        RESULTS + "caution-by-label.jsonl",
    ),
    "docs/decisions/0027-labels-together.md": (
        RESULTS + "labels-together.jsonl",
        RESULTS + "filled-labels.jsonl",
    ),
}


def state_table():
    """Return the arrays of the state, from the table the code is made of."""
    from efcml.model.fields import markdown_table

    return markdown_table()


def case_table():
    """Return the arrays of the remembered cases."""
    from efcml.model.casebase import CASE_FIELDS
    from efcml.model.fields import markdown_table

    return markdown_table(CASE_FIELDS)


def follow_table():
    """Return the arrays of the scale that follows."""
    from efcml.model.fields import FOLLOW_FIELDS, markdown_table

    return markdown_table(FOLLOW_FIELDS)


def sequel_table():
    """Return the arrays of caution and time."""
    from efcml.model.fields import markdown_table
    from efcml.model.sequel_fields import SEQUEL_FIELDS

    return markdown_table(SEQUEL_FIELDS)


def label_table(fields):
    """Return some arrays of what errors teach of the labels, by the name of their table."""
    from efcml.model.fields import markdown_table

    from efcml.model import label_fields

    return markdown_table(getattr(label_fields, fields))


def parameter_table():
    """Return names, defaults, ranges, printed values and meanings of all parameters."""
    from efcml.model.params import Parameters
    from efcml.support.declared import facts_of, printed

    paper = printed(Parameters)
    lines = ["| name | default | what it does, and which values are allowed |", "|---|---|---|"]
    for name, facts in facts_of(Parameters).items():
        meaning, values = facts.meaning.replace("``", "`"), f"`{facts.kind}`"
        if name in paper:
            values += f"; `paper()` has `{paper[name]!r}`"
        lines.append(f"| `{name}` | `{facts.default!r}` | {meaning} {values} |")
    return "\n".join(lines)


def measure_table(header, show):
    """Return a table of all measures; ``show`` gives the cells that follow the name of one."""
    from efcml.measures import MEASURES

    lines = [f"| name | {' | '.join(header)} |", "|---" * (len(header) + 1) + "|"]
    for name, measure in MEASURES.items():
        cells = [f"`{name}`", *(cell.replace("|", "\\|") for cell in show(measure))]
        lines.append("| " + " | ".join(cells).rstrip() + " |")
    return "\n".join(lines)


def data_set_table():
    """Return the published sets and their sizes."""
    from efcml.datasets import CATALOG

    lines = ["| set | rows | initial part | features | labels |", "|---|---|---|---|---|"]
    for one in CATALOG.values():
        sizes = (one.n, one.n_initial, one.p, one.K)
        lines.append(f"| {one.name}: {one.title} | {' | '.join(map(str, sizes))} |")
    return "\n".join(lines)


def definition_table():
    """Return what every measure is."""
    return measure_table(
        ("function", "definition", "better", "rows without true labels"),
        lambda one: (f"`{one.counts.__name__}`", one.meaning, one.better, one.empty),
    )


SCIKIT_LEARN = {  # the function, and how it differs
    "pa": ("`1 - hamming_loss`", "none"),
    "ap": (
        "`label_ranking_average_precision_score`",
        "counts rows without labels as 1: it gives `(m ap + n - m) / n`",
    ),
    "subset_accuracy": ("`accuracy_score`", "none"),
    "example_f1": (
        '`f1_score(average="samples", zero_division=1)`',
        "none; the default 0 is lower by the share of rows with nothing true and nothing predicted",
    ),
    "micro_f1": ('`f1_score(average="micro", zero_division=np.nan)`', "none"),
    "macro_f1": (
        '`f1_score(average="macro", zero_division=np.nan)`',
        "none; the default 0 gives `macro_f1` times (labels that count) / K",
    ),
    "ranking_loss": (
        "`label_ranking_loss`",
        "counts rows without a pair as 0: it gives `ranking_loss m / n`",
    ),
    "one_error": ("none", ""),
    "coverage": ("`coverage_error`", "counts rows without labels as 0: it gives `coverage m / n`"),
    "log_loss": ("`log_loss`, of all labels in one column", "none"),
    "brier_score": ("`brier_score_loss`, of all labels in one column", "none"),
    "calibration_error": ("none; `calibration_curve` has its bins", ""),
}


def scikit_learn_table():
    """Return which function of scikit-learn every measure is, and how it differs."""
    return measure_table(("scikit-learn", "difference"), lambda one: SCIKIT_LEARN[one.name])


def results_table(root=ROOT):
    """Return the results in file order, default and tuned, from the records of the experiments."""
    from efcml_paper.marks import OURS
    from efcml_paper.pages import NOTHING

    from efcml_paper.paper_tables import MISSING
    from efcml_paper.scale import SETS

    findings = read_experiments(root)
    if findings is None:
        return NOTHING
    lines = [
        "| data set | PA | AP | rules at the end | PA, tuned | AP, tuned | rules, tuned |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in SETS:
        cells = []
        for model in reversed(OURS):
            found = findings.pick("pa-trends", name, model)
            if found is None:
                cells += [MISSING] * 3
                continue
            pa, ap, rules = (findings.numbers(*found, key)[0] for key in ("pa", "ap", "rules"))
            cells += [f"{pa:.3f}", f"{ap:.3f}", f"{rules:.0f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def decision_list(root=ROOT):
    """Return links to all notes on decisions, with their titles."""
    pages = sorted((root / "docs" / "decisions").glob("[0-9]*.md"))
    titles = [page.read_text(encoding="utf-8").partition("\n")[0] for page in pages]
    return "\n".join(
        f"{int(page.name[:4])}. [{title.lstrip('# 0123456789.')}]({page.name})"
        for page, title in zip(pages, titles, strict=True)
    )


@cache
def paper_part(name, root=ROOT):
    """Return a part of the page on the paper's experiments, from the committed records."""
    from efcml_paper import pages

    findings = read_experiments(root)
    if name == "tables_part":
        drawn = [path.name for path in (root / "docs" / "images").glob("paper-*.svg")]
        return pages.tables_part(findings, drawn)
    return getattr(pages, name)(findings)


def records_of(page, root=ROOT):
    """Return the record files that a page was made from, from the root of the repository."""
    found = [path for pattern in RECORDS[page] for path in sorted(root.glob(pattern))]
    return [path.relative_to(root).as_posix() for path in found]


def age_part(page, root=ROOT):
    """Return which records of a page are not by the method of today; mostly nothing."""
    return age_note(records_of(page, root), root, method_of_today())


@cache
def method_of_today():
    """Return the fingerprint of the method, found in a new process: tests change defaults here."""
    program = "from efcml.studies.provenance import method; print(method())"
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


@cache
def read_experiments(root):
    """Return what the committed records of the experiments say."""
    from efcml_paper.pages import read_findings

    return read_findings(root / EXPERIMENTS)


TABLES = {
    "README.md": {"results": results_table, "peers": readme_table},
    "docs/active.md": {"active-speed": partial(active_part, ROOT)},
    "docs/comparison.md": dict(COMPARISON_PARTS),
    "docs/state.md": {
        "state": state_table,
        "cases": case_table,
        "follow": follow_table,
        "sequel": sequel_table,
        "together": partial(label_table, "TOGETHER_FIELDS"),
        "calibration": partial(label_table, "CALIBRATION_FIELDS"),
        "thresholds": partial(label_table, "THRESHOLD_FIELDS"),
    },
    "docs/data_sets.md": {"published": data_set_table},
    "docs/parameters.md": {"parameters": parameter_table},
    "docs/measures.md": {"definitions": definition_table, "scikit-learn": scikit_learn_table},
    "docs/reliability.md": {
        "long-streams": partial(long_streams_table, ROOT),
        "drift-cycles": partial(drift_cycles_table, ROOT),
    },
    "docs/speed.md": {name: partial(speed_part, name, ROOT) for name in PARTS},
    "docs/decisions/index.md": {"decisions": decision_list},
    "docs/reading.md": {"named-features": named_features_table},
    "docs/results/following.md": {
        "forgetting": forgetting_table,
        "detection": detection_table,
        "following-time": time_table,
    },
    "docs/results/labels_together.md": dict(TOGETHER_PARTS),
    "docs/decisions/0024-scale-that-follows.md": {"moved-scales": moved_scales_table},
    "docs/decisions/0026-what-errors-teach.md": {
        "ablation": TOGETHER_PARTS["ablation"],
        "by-label": by_label_table,
    },
    "docs/decisions/0027-labels-together.md": {"filled": filled_table},
    "docs/results/missing_features.md": {
        "missing-features": missing_features_table,
        "gaps-differences": missing_features_differences,
    },
    "docs/results/parts.md": {"parts": parts_table},
    "docs/results/peers.md": dict(PEER_PARTS),
    "docs/results/rivals.md": {"rivals": rivals_table},
    "docs/results/synthetic.md": {"synthetic": synthetic_table},
    "docs/results/active.md": {"recovery": partial(paper_part, "recovery_part")},
    "docs/results/paper.md": {
        "verdicts": partial(paper_part, "verdict_part"),
        "marks": partial(paper_part, "marks_part"),
        "tables": partial(paper_part, "tables_part"),
    },
}

for page in RECORDS:
    TABLES.setdefault(page, {})["age"] = partial(age_part, page)


TO_LOOK_UP = ("docs/parameters.md", "docs/state.md")  # long tables begin unfolded there


def fill(text, name, table):
    """Return the text with a new table between the marks of ``name``."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"{begin} and {end} must stand in the file once each")
    before, rest = text.split(begin)
    return f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"


def render(root=ROOT):
    """Return what every file with tables should hold."""
    pages = {}
    for file, tables in TABLES.items():
        text = (root / file).read_text(encoding="utf-8")
        for name, make in tables.items():
            text = fill(text, name, fold(make(), unfolded=file in TO_LOOK_UP))
        pages[file] = text
    return pages


def main(arguments=None):
    """Write the files that have changed; with ``--check`` name them and fail instead."""
    parser = argparse.ArgumentParser(description="Write the generated tables of the documentation.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if out of date")
    check = parser.parse_args(arguments).check
    old = []
    for file, text in render().items():
        path = ROOT / file
        if path.read_text(encoding="utf-8") != text:
            old.append(file)
            if not check:
                path.write_text(text, encoding="utf-8")
    if old:
        print(("out of date: " if check else "written: ") + ", ".join(old))
    return int(check and bool(old))


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "experiments")]
    sys.exit(main())
