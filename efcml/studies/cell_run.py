"""The runs themselves: a model is fitted once, and a copy of it goes through every order.

This is what workers do. They know neither the study nor what its numbers are for.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass, fields
from multiprocessing import current_process
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.studies.noting import take_note
from efcml.support.blas import one_blas_thread
from efcml.support.guard import Guarded
from efcml.support.steps import last_step
from efcml.support.table_rows import take_rows

if TYPE_CHECKING:
    from pathlib import Path

    from efcml.evaluation import PrequentialResult
    from efcml.studies.noting import Note
    from efcml.studies.variants import Variant
    from efcml.support.aliases import Arrays, Facts, Floats, Ints

    Kept = tuple[Facts, Arrays]

EVENTS = ("event_rows", "event_kinds", "event_uids")
MOST_WARNINGS = 5  # kept of one run


@dataclass(frozen=True)
class Pass:
    """One run: an order of the stream, and how labels come."""

    facts: Facts  # what its record says before it is done
    variant: Variant  # without its model
    rows: Ints  # in the order in which they arrive
    seed: int  # of an active learner that has none


@dataclass(frozen=True)
class Batch:
    """Runs that share an initial part and a model."""

    model: Any
    n_initial: int
    passes: tuple[Pass, ...]
    source: tuple[str, int]  # data set and seed, to find the rows by
    data: tuple[Any, Floats] | None = None  # the rows, if they are not with ``shared``
    folder: Path | None = None  # where records go as they are made; None returns them
    note: Note | None = None  # what else is kept of a run


def run_batch(batch: Batch, shared: dict[tuple[str, int], Any] | None = None) -> list[Any]:
    """Do all runs of a batch; return their keys, or their records if they are kept nowhere."""
    from efcml.studies.record_folder import write_record

    if current_process().name != "MainProcess":
        share_no_bars()
    X, Y = batch.data if shared is None else shared[batch.source]  # type: ignore[misc]
    done: list[Any] = []
    for facts, arrays in run_passes(batch, X, Y):
        if batch.folder is None:
            done.append((facts, arrays))
        else:
            write_record(batch.folder, facts, arrays)
            done.append(facts["key"])
    return done


def share_no_bars() -> None:
    """Let bars of this process have a lock of their own.

    Usually tqdm makes one that processes share, and of a worker that is ended after Ctrl-C Python
    says that it left that behind.
    """
    from tqdm import tqdm

    tqdm.set_lock(RLock())


def run_passes(batch: Batch, X: Any, Y: Floats) -> Iterator[Kept]:
    """Yield the records of a batch as its runs end; an error names the run."""
    first = batch.passes[0].facts["key"]
    with one_blas_thread(), named(first), warned() as notes:
        begin = time.perf_counter()
        fitted = fit(batch.model, take_rows(X, slice(batch.n_initial)), Y[: batch.n_initial])
        fitting = time.perf_counter() - begin
    for one in batch.passes:
        last = one is batch.passes[-1]
        with one_blas_thread(), named(one.facts["key"]), warned() as further:
            model = fitted if last else copy_fitted(fitted)
            result = stream(model, X, Y, one)
            found = {} if batch.note is None else {"noted": take_note(batch.note, model, result)}
        facts, arrays = split_result(result)
        told = tell_warnings([*notes, *further])
        yield one.facts | facts | found | {"fit_seconds": fitting, "warnings": told}, arrays


@contextmanager
def named(key: str) -> Iterator[None]:
    """Let errors of a run say which one it was, in one line."""
    try:
        yield
    except Exception as error:
        told = " ".join(str(error).split())
        raise RuntimeError(f"{key}: {type(error).__name__}: {told}") from error


@contextmanager
def warned() -> Iterator[list[warnings.WarningMessage]]:
    """Collect warnings, which belong to a record and not on the screen of a worker."""
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        yield notes


def tell_warnings(notes: list[warnings.WarningMessage]) -> list[str]:
    """Return what warnings say, each once and in one line."""
    told = (f"{note.category.__name__}: {' '.join(str(note.message).split())}" for note in notes)
    return list(dict.fromkeys(told))[:MOST_WARNINGS]


def fit(model: Any, X: Any, Y: Floats) -> Any:
    """Return a copy of a model that has learned the initial part, in whichever way it can.

    Of a model from elsewhere that has ``fit``, rows that lack a label are left out, as in a stream.
    One that learns row by row only goes through the rows.
    """
    from efcml.evaluation import prequential

    model = deepcopy(model)
    if hasattr(last_step(model), "begin_stream"):
        return model.fit(X, Y)
    if not hasattr(model, "fit"):
        prequential(model, X, own_shape(model, Y), progress=False)
        return model
    known = ~np.isnan(Y).any(axis=1)
    model.fit(take_rows(X, known), own_shape(model, Y[known]).astype(int))
    return model


def own_shape(model: Any, Y: Floats) -> Floats:
    """Return labels as a model takes them: a single one flat, unless it is a dictionary's."""
    last = last_step(model)
    flat = Y.shape[1] == 1 and not hasattr(last, "begin_stream")
    return Y[:, 0] if flat and not hasattr(last, "learn_one") else Y


def copy_fitted(model: Any) -> Any:
    """Return an independent copy of a fitted model.

    Our learners copy themselves ten times as fast as `deepcopy` copies them, and a stream of some
    hundred rows takes hardly longer than that.
    """
    if not hasattr(model, "begin_stream"):
        return deepcopy(model)
    twin = copy(model)
    for name, value in vars(model).items():
        own = value.copy() if isinstance(value, Guarded) else deepcopy(value)
        setattr(twin, name, own)
    return twin


def stream(model: Any, X: Any, Y: Floats, one: Pass) -> PrequentialResult:
    """Run the stream of a pass."""
    from efcml.evaluation import prequential

    variant = one.variant
    return prequential(
        model,
        take_rows(X, one.rows),
        own_shape(model, Y[one.rows]),
        active=make_asker(variant.active, one.seed),
        learn=variant.learn,
        delay=variant.delay,
        progress=False,
    )


def make_asker(active: Any, seed: int) -> Any:
    """Return a new active learner with the options of another one."""
    if active is None:
        return None
    from efcml.studies.variants import ASKING

    options = {name: getattr(active, name) for name in ASKING}
    own = seed if active.random_state is None else active.random_state
    return type(active)(**options, open_questions=active.open_questions, random_state=own)


def split_result(result: PrequentialResult) -> Kept:
    """Return a result as facts and arrays; the true labels are those of the data set."""
    plain: Facts = {}
    arrays: Arrays = {}
    for name in (one.name for one in fields(result) if one.name not in ("Y", "events")):
        value = getattr(result, name)
        (arrays if isinstance(value, np.ndarray) else plain)[name] = value
    columns = list(zip(*result.events, strict=True)) or [(), (), ()]
    for name, values, kind in zip(EVENTS, columns, ("i8", "U8", "i8"), strict=True):
        arrays[name] = np.array(values, dtype=kind)
    return {"seconds": plain["seconds"], "plain": plain}, arrays


def join_result(facts: Facts, arrays: Arrays, Y: Floats) -> PrequentialResult:
    """Return the result that `split_result` was given."""
    from efcml.evaluation import PrequentialResult

    columns = (arrays[name].tolist() for name in EVENTS)
    parts: dict[str, Any] = {"Y": Y} | facts["plain"]
    parts["events"] = tuple(zip(*columns, strict=True))
    parts |= {name: values for name, values in arrays.items() if name not in EVENTS}
    return PrequentialResult(**parts)
