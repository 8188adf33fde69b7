"""Tables of docs/results/labels_together.md: what errors teach of labels, marks, ablation, cost."""

from statistics import mean
from typing import NamedTuple

from following_tables import ROOT, read
from speed_tables import digits, markdown, not_yet, read_record

SETS = ("emotions", "yeast", "birds", "water-quality", "mediamill")
LATE = ("at once", "10 rows later", "100 rows later", "of a tenth of the rows, asked")
OFF = ("without time", "without caution", "without both")
MOST_ABOVE = 0.01  # of the calibration error, above that of labels drawn from the probabilities
MOST_LOST = 0.002  # of PA and AP, where nothing is to be gained
TITLES = {
    "pa": "PA",
    "ap": "AP",
    "subset_accuracy": "subset accuracy",
    "example_f1": "example F1",
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
    "log_loss": "log loss",
    "brier_score": "Brier score",
}
# What was asked for before it was built: what is meant, the set, what it was then, what is wanted.
HALF, SUBSET, F1 = ("given_half",), ("decisions", "subset"), ("decisions", "f1")
WANTED = (
    ("half given half, PA", HALF, "pa", {"yeast": (0.810, 0.875)}),
    (
        'subset accuracy by `decision="subset"`',
        SUBSET,
        "subset_accuracy",
        {"yeast": (0.183, 0.235), "emotions": (0.347, 0.36), "mediamill": (0.119, 0.15)},
    ),
    (
        'macro F1 by `decision="f1"`',
        F1,
        "macro_f1",
        {"birds": (0.299, 0.38), "yeast": (0.363, 0.46), "mediamill": (0.082, 0.20)},
    ),
    ("PA", (), "pa", {"water-quality": (0.723, 0.726)}),
    ("AP", (), "ap", {"water-quality": (0.704, 0.712), "mediamill": (0.748, 0.78)}),
)
BEFORE = {"emotions": (0.8234, 0.8285), "yeast": (0.8064, 0.7688)}  # PA, AP then; others unknown


def records_by_set(records=None):
    """Return what was recorded of labels together, by set, in the order of the tables."""
    records = read("labels-together.jsonl") if records is None else records
    found = {record["set"]: record for record in records}
    return {name: found[name] for name in SETS if name in found}


def part_of(record, path):
    """Return a part of a record."""
    for key in path:
        record = record[key]
    return record


def as_gain(gain):
    """Return a difference and its interval, in thousandths."""
    mean, low, high = (round(1e3 * value, 1) + 0.0 for value in gain)
    return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"


def as_change(line):
    """Return a measure before and after, and the difference."""
    return f"{line['before']:.4f}, {line['after']:.4f} ({as_gain(line['gain'])})"


def change_table(path, measures, records=None):
    """Return a measure per column, before and after, for each set."""
    head = ["set", *(TITLES[name] for name in measures)]
    rows = []
    for name, record in records_by_set(records).items():
        part = part_of(record, path)
        rows.append([name, *(as_change(part[measure]) for measure in measures)])
    return markdown(head, rows)


def penalty_table(records=None):
    """Return what the penalty of the paper gives."""
    return change_table(("penalty",), ("pa", "ap"), records)


def given_table(records=None):
    """Return what half of the labels say of the other half."""
    head = ["set", "labels", "trusted by", "PA", "log loss", "Brier score", "above drawn"]
    rows = []
    for name, record in records_by_set(records).items():
        half, (first, last) = record["given_half"], record["share"]
        cells = [as_change(half[measure]) for measure in ("pa", "log_loss", "brier_score")]
        above = ", ".join(f"{1e3 * value:+.1f}" for value in above_drawn(half))
        rows.append([name, record["labels"], f"{first:.2f}, {last:.2f}", *cells, above])
    return markdown(head, rows)


def subset_table(records=None):
    """Return what whole sets give and cost."""
    return change_table(
        SUBSET, ("subset_accuracy", "pa", "example_f1", "micro_f1", "macro_f1"), records
    )


def f1_table(records=None):
    """Return what thresholds for F1 give and cost."""
    return change_table(
        F1, ("macro_f1", "pa", "micro_f1", "example_f1", "subset_accuracy"), records
    )


def above_drawn(part):
    """Return by how much calibration errors exceed what chance does, before and after."""
    line = part["calibration_error"]
    return [line[when] - line[f"drawn_{when}"] for when in ("before", "after")]


def probability_table(records=None):
    """Return how far probabilities can be believed, before and after."""
    head = ["set", "calibration error", "drawn labels", "above", "log loss", "Brier score"]
    rows = []
    for name, record in records_by_set(records).items():
        part = record["probabilities"]
        line = part["calibration_error"]
        drawn = f"{line['drawn_before']:.4f}, {line['drawn_after']:.4f}"
        above = ", ".join(f"{1e3 * value:+.1f}" for value in above_drawn(part))
        cells = [as_change(part[measure]) for measure in ("log_loss", "brier_score")]
        rows.append([name, as_change(line), drawn, above, *cells])
    return markdown(head, rows)


def filled_table(records=None):
    """Return what other ways to fill in unknown labels give beyond the answer of the winner.

    Means of the draws, and in brackets the least and the largest.
    """
    head = ["set", "unknown", "squared error of the filled", "winner, PA / AP"]
    head += [
        f"{way}, {TITLES[measure]}" for way in ("known", "learned") for measure in ("pa", "ap")
    ]
    records = read("filled-labels.jsonl") if records is None else records
    rows = []
    for name, share in dict.fromkeys((r["set"], r["unknown"]) for r in records):
        here = [r for r in records if (r["set"], r["unknown"]) == (name, share)]
        off = [mean([r["squared_error"][way] for r in here]) for way in ("winner", "known")]
        marks = [mean([r["winner"][measure] for r in here]) for measure in ("pa", "ap")]
        cells = ["{:.3f}, {:.3f}".format(*off), "{:.4f} / {:.4f}".format(*marks)]
        for way in ("known", "learned"):
            for measure in ("pa", "ap"):
                gains = [r[way][measure] - r["winner"][measure] for r in here]
                cells.append(as_gain((mean(gains), min(gains), max(gains))))
        rows.append([name, f"{share:.0%}", *cells])
    return markdown(head, rows)


def late_table(records=None):
    """Return the pairs if labels come late, or are few: means of the orders.

    In brackets is the difference, and that of the least and of the largest order.
    """
    records = read("few-and-late-labels.jsonl") if records is None else records
    head = [
        "set",
        "labels come",
        "trusted by",
        "half given half, PA",
        "subset accuracy",
        "log loss",
    ]
    rows = []
    for name in SETS:
        here = [record for record in records if record["set"] == name]
        for case in LATE if here else ():
            parts = [record[case] for record in here]
            cells = [f"{mean([part['share'][1] for part in parts]):.2f}"]
            for key in ("half", "subset", "log_loss"):
                lines = [part[key] for part in parts]
                gains = [line["gain"][0] for line in lines]
                line = {when: mean([one[when] for one in lines]) for when in ("before", "after")}
                cells.append(as_change(line | {"gain": (mean(gains), min(gains), max(gains))}))
            rows.append([name, case, *cells])
    return markdown(head, rows)


# -- marks -----------------------------------------------------------------------------------------


class Mark(NamedTuple):
    """Something that was asked for."""

    what: str
    name: str  # of the set
    noted: str  # what it was when it was asked for, if that was noted
    wanted: float
    without: float | None  # what is found today without what should bring it
    found: float
    met: bool


def marks(records, ablation):
    """Return all marks of the sets that were run."""
    found = records_by_set(records)
    return [
        *wanted_marks(found, ablation),
        *kept_marks(found, ablation),
        *probability_marks(found),
    ]


def without_both(ablation, measure):
    """Return a measure by set, without caution and time."""
    return {r["set"]: r[measure] for r in ablation if r["variant"] == "without both"}


def wanted_marks(found, ablation):
    """Yield what was to be reached."""
    for what, path, measure, wanted in WANTED:
        for name, (noted, least) in wanted.items():
            if name in found:
                value = part_of(found[name], path)[measure]
                if path:
                    without, value = value["before"], value["after"]
                else:
                    without = without_both(ablation, measure).get(name)
                yield Mark(what, name, f"{noted:.3f}", least, without, value, value >= least)


def kept_marks(found, ablation):
    """Yield what must not be lost: against what was noted then, else without caution and time."""
    marked = {(measure, name) for _, path, measure, sets in WANTED if not path for name in sets}
    for position, measure in enumerate(("pa", "ap")):
        for name, record in found.items():
            without = without_both(ablation, measure).get(name)
            noted = BEFORE[name][position] if name in BEFORE else None
            before = without if noted is None else noted
            if before is not None and (measure, name) not in marked:
                what = f"{TITLES[measure]}, not lower by more than .002"
                text, least = "" if noted is None else f"{noted:.4f}", before - MOST_LOST
                value = record[measure]
                yield Mark(what, name, text, least, without, value, value >= least)


def probability_marks(found):
    """Yield what probabilities must not exceed; without: the bent scores."""
    for name, record in found.items():
        before, after = above_drawn(record["probabilities"])
        what, met = "calibration error above drawn labels, at most", after <= MOST_ABOVE
        yield Mark(what, name, "", MOST_ABOVE, before, after, met)
    for name, record in found.items():
        line = record["probabilities"]["log_loss"]
        before, met = line["before"], line["gain"][0] <= 0.0
        yield Mark("log loss, at most", name, "", before, before, line["after"], met)


def marks_table(records=None, ablation=None):
    """Return all marks, and whether they are met."""
    head = ["mark", "set", "when it was set", "wanted", "today without", "today", ""]
    rows = []
    for one in marks(records, ablation_records(ablation)):
        without = "" if one.without is None else f"{one.without:.4f}"
        met = "met" if one.met else "**missed**"
        texts = one.noted, f"{one.wanted:.4f}", without, f"{one.found:.4f}"
        rows.append([one.what, one.name, *texts, met])
    return markdown(head, rows)


# -- ablation and cost -----------------------------------------------------------------------------


def ablation_records(records=None):
    """Return the runs with caution and time switched off, labels without delay."""
    records = read("errors-teach.jsonl") if records is None else records
    return [record for record in records if record["delay"] == 0]


def ablation_table(records=None):
    """Return PA and AP of the default, and what it has more than without caution or time."""
    head = ["set", "default, PA / AP"]
    head += [f"{variant}, {TITLES[measure]}" for variant in OFF for measure in ("pa", "ap")]
    rows = []
    records = ablation_records(records)
    for name in SETS:
        here = {record["variant"]: record for record in records if record["set"] == name}
        if here:
            cells = [as_gain(here[variant][f"{m}_gain"]) for variant in OFF for m in ("pa", "ap")]
            rows.append([name, "{pa:.4f} / {ap:.4f}".format(**here["default"]), *cells])
    return markdown(head, rows)


def by_label_table(records=None):
    """Return what caution gives models for each label, against time alone: means of the orders.

    In brackets are the least and the largest order.
    """
    records = read("caution-by-label.jsonl") if records is None else records
    ways = [(way, measure) for way in ("alone", "pooled") for measure in ("pa", "ap")]
    head = ["set", "fitted", "without caution, PA / AP"]
    head += [f"{way}, {TITLES[measure]}" for way, measure in ways]
    rows = []
    for share in sorted({record["share"] for record in records}, reverse=True):
        for name in SETS:
            here = [r for r in records if (r["set"], r["share"]) == (name, share)]
            if here:
                marks = [mean([r["time"][measure] for r in here]) for measure in ("pa", "ap")]
                cells = ["{:.4f} / {:.4f}".format(*marks)]
                for way, measure in ways:
                    gains = [r[way][measure] - r["time"][measure] for r in here]
                    cells.append(as_gain((mean(gains), min(gains), max(gains))))
                rows.append([name, f"{share:.0%}", *cells])
    return markdown(head, rows)


def learning_cost_table(root=ROOT):
    """Return what a learned row takes, and how much of it each layer is."""
    record = read_record("labels_speed", root)
    if record is None:
        return not_yet("labels_speed")
    layers = ("without caution", "without time", "without both", "without the label layer")
    rows = []
    for line in record["lines"]:
        learned = line["learned"]
        parts = [f"{learned['default'] / learned[name]:.2f}" for name in layers]
        rows.append([line["data"], line["labels"], digits(learned["default"]), *parts])
    head = [
        "data",
        "labels",
        "CPU of a learned row, ms",
        *(f"times that {name}" for name in layers),
    ]
    return markdown(head, rows)


def answering_cost_table(root=ROOT):
    """Return what an answer takes: the scores, and what is made of them."""
    record = read_record("labels_speed", root)
    if record is None:
        return not_yet("labels_speed")
    kinds = list(record["lines"][0]["answered"])
    head = ["data", "labels", *(f"{kind}, ms" for kind in kinds)]
    rows = [
        [line["data"], line["labels"], *(digits(line["answered"][kind]) for kind in kinds)]
        for line in record["lines"]
    ]
    return markdown(head, rows)


PARTS = {
    "penalty": penalty_table,
    "given": given_table,
    "subset": subset_table,
    "f1": f1_table,
    "probabilities": probability_table,
    "late": late_table,
    "marks": marks_table,
    "ablation": ablation_table,
    "learning-cost": learning_cost_table,
    "answering-cost": answering_cost_table,
}
