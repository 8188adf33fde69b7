"""A run from its description to its record."""

from functools import lru_cache
from time import perf_counter

import numpy as np

from efcml import ActiveLearner, measures
from efcml.rivals import MODELS, make_model
from efcml.studies import Variant, cell_run
from efcml.studies.provenance import machine, method, versions
from efcml.support.blas import one_blas_thread
from efcml_paper.data_rows import data_fingerprint, data_of, initial_rows, order_of, stream_rows
from efcml_paper.packing import pack, pack_shares

CURVE_POINTS = 200  # of the number of rules along the stream
RAN_AWAY = "DivergenceWarning"  # begins what is told of a rule that ran away


def execute(run):
    """Do a run and return its record, ready for JSON; an error names the run."""
    with cell_run.named(run.key):
        return run_and_measure(run)


def run_and_measure(run):
    """Do a run, as studies do theirs, and return its record."""
    begin = perf_counter()
    ds = data_of(run)
    rows = stream_rows(run, ds)
    order = order_of(run, len(rows))
    variant = Variant(None, active=make_asker(run), learn=MODELS[run.model].learn)
    with one_blas_thread():
        fitted, told = fit(run.fitting)
        with cell_run.noted() as notes:
            one = cell_run.Pass({}, variant, rows[order], run.order)
            result = cell_run.stream(cell_run.copy_fitted(fitted), ds.X, ds.Y, one)
    told = [*told, *cell_run.tell_warnings(notes)]
    shares = np.empty((2, len(rows)))
    shares[0, order] = measures.partial_accuracy_rows(result.Y, result.scores >= 0.5)
    shares[1, order] = measures.average_precision_rows(result.Y, result.scores)
    n_labels = result.Y.shape[1]
    return identity(run) | {
        "labels": n_labels,
        "pa": result.pa,
        "ap": result.ap,
        "rules": int(result.rules[-1]),
        "most_rules": int(result.rules.max()),
        **result.event_counts,
        "asked": float(result.queried.mean()),
        "diverged": any(words.startswith(RAN_AWAY) for words in told),
        "ms_per_sample": 1e3 * result.seconds_per_sample,
        "seconds": perf_counter() - begin,
        # By sample, in the order of the file, whatever the order of the run was.
        "right": pack(np.round(shares[0] * n_labels), "u1"),
        "ap_rows": pack_shares(shares[1]) if run.keeps_ap else None,
        "curve": pack(result.rules[curve_points(len(rows))], "u2"),
    }


def identity(run):
    """Return what a record says of the run itself."""
    asking = (
        None if run.asking is None else vars(run.asking) | {"criteria": list(run.asking.criteria)}
    )
    return {
        "key": run.key,
        "set": run.dataset,
        "model": run.model,
        "start": run.start,
        "order": run.order,
        "seed": run.order,
        "asking": asking,
        "parameters": dict(run.parameters),
        "versions": versions(),
        "method": method(),
        "data": data_fingerprint(run),
        "machine": machine(),
    }


def make_asker(run):
    """Return the active learner of a run, or None; its seed is the order of the run."""
    return None if run.asking is None else ActiveLearner(*vars(run.asking).values())


@lru_cache(maxsize=1)
def fit(run):
    """Return the fitted model of a run and what it warned of.

    The last one is kept: runs that differ in their stream alone follow each other.
    """
    ds = data_of(run)
    rows = initial_rows(run, ds)
    with cell_run.noted() as notes:
        model = make_model(run.model, **dict(run.parameters))
        return cell_run.fit(model, ds.X[rows], ds.Y[rows]), cell_run.tell_warnings(notes)


def curve_points(n_rows):
    """Return the rows of the stream at which the number of rules is kept.

    Examples
    --------
    >>> curve_points(3)
    array([0, 1, 2])
    """
    return np.linspace(0, n_rows - 1, min(n_rows, CURVE_POINTS)).round().astype(int)
