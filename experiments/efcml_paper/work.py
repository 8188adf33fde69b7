"""The runs that are missing: a study does them, and their records are kept."""

import shutil

import numpy as np

from efcml import ActiveLearner, Study, measures
from efcml.studies import Variant
from efcml.support.progress import is_watched
from efcml_paper.run_records import pack, pack_shares
from efcml_paper.runs import order_of
from efcml_paper.simple_models import MODELS, make_model

CURVE_POINTS = 200  # of the number of rules along the stream
RAN_AWAY = "DivergenceWarning"  # begins what is told of a rule that ran away


def run_missing(runs, records, workers, *, say=print, progress=None):
    """Do what is missing; timed runs come last, one at a time, in this process.

    ``workers`` are jobs or dask, as `Study.run` takes them.
    """
    wanted = dict.fromkeys(runs)
    missing = [run for run in wanted if not records.is_current(run)]
    old = sum(records.of(run) is not None for run in missing)
    if old:
        say(f"{old} records come from another method or data and are made again")
    if missing:
        say(f"{len(missing)} runs to do ({len(wanted) - len(missing)} are there)")
    if progress is None and not is_watched():
        progress = say  # in a log, a line now and then
    for alone, place in ((False, workers), (True, {})):
        some = [run for run in missing if run.alone == alone]
        if some:
            run_study(some, records, place, progress)


def run_study(runs, records, workers, progress=None):
    """Do runs as a study; keep the records of all that were done, also after an interruption."""
    cells = {run.cell: run for run in runs}
    folder = records.path.parents[1] / "checkpoints" / "runs"
    study = Study(
        {run.cell[1]: variant_of(run) for run in runs},
        {run.cell[0]: run.rows() for run in runs},
        orders=sorted({run.cell[2] for run in runs}),
        folder=folder,
        only=lambda *cell: cell in cells,
    )
    try:
        study.run(**workers, progress=progress)
    except KeyboardInterrupt as interrupt:
        told = str(interrupt).replace("run() goes", "the same command goes")
        raise KeyboardInterrupt(told) from None
    finally:
        done = [cell for cell in cells if study.runs[cell] in study.cache]
        records.add(record_of(cells[cell], study) for cell in done)
        shutil.rmtree(folder)


def variant_of(run):
    """Return the model of a run and how it gets its labels."""
    asks = run.asking and ActiveLearner(*run.asking)
    model = make_model(run.model, **dict(run.parameters))
    return Variant(model, active=asks, learn=MODELS[run.model].learn)


def record_of(run, study):
    """Return the record of a run that a study did, ready for JSON."""
    rows, line, order = run.cell
    result, facts = study.result(line, rows, order), study.facts(line, rows, order)
    n_rows, n_labels = result.Y.shape
    shares = np.empty((2, n_rows))
    shares[:, order_of(run, n_rows)] = (
        measures.partial_accuracy_rows(result.Y, result.scores >= 0.5),
        measures.average_precision_rows(result.Y, result.scores),
    )
    return identity(run, facts) | {
        "labels": n_labels,
        "pa": result.pa,
        "ap": result.ap,
        "rules": int(result.rules[-1]),
        "most_rules": int(result.rules.max()),
        **result.event_counts,
        "asked": float(result.queried.mean()),
        "diverged": any(words.startswith(RAN_AWAY) for words in facts["warnings"]),
        "ms_per_sample": 1e3 * result.seconds_per_sample,
        "seconds": facts["fit_seconds"] + facts["seconds"],
        # By sample, in the order of the file, whatever the order of the run was.
        "right": pack(np.round(shares[0] * n_labels), "u1"),
        "ap_rows": pack_shares(shares[1]) if run.keeps_ap else None,
        "curve": pack(result.rules[curve_points(n_rows)], "u2"),
    }


def identity(run, facts):
    """Return what a record says of the run itself; ``facts`` say who made it."""
    return {
        "key": run.key,
        "set": run.dataset,
        "model": run.model,
        "start": run.start,
        "order": run.order,
        "seed": run.order,
        "asking": run.asking and run.asking._asdict(),
        "parameters": dict(run.parameters),
        "data": run.source.fingerprint,
    } | {name: facts[name] for name in ("versions", "method", "machine")}


def curve_points(n_rows):
    """Return the rows of the stream at which the number of rules is kept.

    Examples
    --------
    >>> curve_points(3)
    array([0, 1, 2])
    """
    return np.linspace(0, n_rows - 1, min(n_rows, CURVE_POINTS)).round().astype(int)
