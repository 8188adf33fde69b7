"""The runs that are missing: a study does them, and their records are kept."""

import shutil

import numpy as np

from efcml import ActiveLearner, measures
from efcml.studies import runs as studies
from efcml.studies.runs import RunCache, Table
from efcml.studies.workers import RunsInterrupted, complete
from efcml.support.progress import is_watched
from efcml_paper.run_records import pack, pack_shares
from efcml_paper.runs import MODELS, make_model, order_of

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
    """Do runs; keep the records of all that were done, also after an interruption."""
    folder = records.path.parents[1] / "checkpoints" / "runs"
    cache, tables = RunCache(folder), {}
    planned = {run: as_studied(run, tables) for run in runs}
    where = {"jobs": 1, "dask": None} | workers
    try:
        complete(cache, list(planned.values()), "study", **where, progress=progress)
    except RunsInterrupted as interrupt:
        raise KeyboardInterrupt(f"{interrupt}; the same command goes on from there") from None
    finally:
        done = [run for run in runs if planned[run] in cache]
        records.add(
            record_of(run, cache.result(planned[run]), cache.facts(planned[run])) for run in done
        )
        shutil.rmtree(folder)


def as_studied(run, tables):
    """Return a run as studies do it; ``tables`` are those of other runs, with known content."""
    rows = run.dataset, run.order - run.shuffle, run.start, run.limits
    ds = run.rows()
    table = tables.setdefault(rows, Table(ds.X, ds.Y))
    stream = ds.n_initial + order_of(run, len(ds) - ds.n_initial)
    return studies.Run(
        run.key,
        make_model(run.model, **dict(run.parameters)),
        table,
        slice(ds.n_initial),
        stream,
        active=run.asking and ActiveLearner(*run.asking),
        seed=run.shuffle,
        learn=MODELS[run.model].learn,
    )


def record_of(run, result, facts):
    """Return the record of a run that was done, ready for JSON."""
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
        "data": run.data,
    } | {name: facts[name] for name in ("versions", "method", "machine")}


def curve_points(n_rows):
    """Return the rows of the stream at which the number of rules is kept.

    Examples
    --------
    >>> curve_points(3)
    array([0, 1, 2])
    """
    return np.linspace(0, n_rows - 1, min(n_rows, CURVE_POINTS)).round().astype(int)
