"""Runs, and the folder that keeps them by their content: what is there is not run again.

A run fits a model to some rows and sends it through others, test-then-train. Its key stands for
all that the result depends on: model, rows, order, options, and the code of the method. So studies
and searches may share a folder, and after a change of any of these there is nothing to delete.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4
from zipfile import BadZipFile

import numpy as np

from efcml.evaluation import PrequentialResult, prequential
from efcml.evaluation.pipelines import last_step, take_rows
from efcml.studies import provenance
from efcml.studies.provenance import digest
from efcml.support.files import make_folder
from efcml.support.guard import Guarded, one_blas_thread

if TYPE_CHECKING:
    from efcml.support.aliases import Facts, Floats, Ints, PathLike

    Note: TypeAlias = Callable[[Any, PrequentialResult], Facts]

ASKING = ("budget", "unit", "criteria", "instability", "adaptation", "step", "window")
EVENTS = ("event_rows", "event_kinds", "event_uids")
MOST_WARNINGS = 5  # kept of one run


@dataclass(frozen=True, eq=False)
class Table:
    """Features and labels of all rows."""

    X: Any
    Y: Any

    @cached_property
    def key(self) -> str:
        """What stands for the content."""
        return digest(self.X, self.Y)


@dataclass(frozen=True, eq=False)
class Run:
    """A model that is fitted to some rows and then goes through others."""

    label: str  # for people; not a part of the key
    model: Any
    table: Table
    fit_rows: Any  # a slice, or numbers
    stream_rows: Ints  # in the order in which they arrive
    active: Any = None
    seed: int = 0  # of an active learner that has none
    delay: int = 0
    learn: bool = True
    note: Note | None = None  # what else is kept

    @cached_property
    def fit_key(self) -> str:
        """What stands for all that the fitted model depends on."""
        return digest(self.model, self.table.key, np.r_[self.fit_rows])

    @cached_property
    def key(self) -> str:
        """What stands for all that the record depends on."""
        asks = [] if self.active is None else [describe_active(self.active), self.seed]
        return digest(self.fit_key, self.stream_rows, asks, self.delay, self.learn, self.note)


def describe_active(active: Any) -> Facts:
    """Return the options of an active learner."""
    options = {name: getattr(active, name) for name in ASKING}
    return options | {
        "open_questions": active.open_questions,
        "random_state": active.random_state,
    }


# -- what is kept ---------------------------------------------------------------------------


class RunCache:
    """Records of runs in a folder, a file for each, whole or not there.

    Equal runs give equal files, so two processes that work in one folder do some runs twice and
    spoil nothing: no lock is needed.

    Parameters
    ----------
    folder : path or None
        None makes one that goes with this object.
    """

    def __init__(self, folder: PathLike | None = None) -> None:
        if folder is None:
            folder = tempfile.mkdtemp(prefix="efcml-runs-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.folder = Path(folder)
        make_folder(self.folder)
        self._facts: dict[str, Facts] = {}

    def file(self, run: Run) -> Path:
        """Return where the record of a run is, or will be."""
        return self.folder / f"{run.key}.npz"

    def __contains__(self, run: Run) -> bool:
        return self.facts(run) is not None

    def facts(self, run: Run) -> Facts | None:
        """Return what is kept of a run besides the result; None if it is not there or cut."""
        if run.key not in self._facts:
            facts = read_facts(self.file(run))
            if facts is None or facts.get("key") != run.key:
                return None
            self._facts[run.key] = facts
        return self._facts[run.key]

    def facts_of(self, run: Run) -> Facts:
        """Return the same, or say that it is not there."""
        facts = self.facts(run)
        if facts is None:
            raise ValueError(f"{run.label} is not run yet: call study.run().")
        return facts

    def result(self, run: Run) -> PrequentialResult:
        """Return what `prequential` gave."""
        facts = self.facts_of(run)
        with np.load(self.file(run), allow_pickle=False) as file:
            parts: dict[str, Any] = {name: file[name] for name in file.files if name != "facts"}
        columns = [parts.pop(name).tolist() for name in EVENTS]
        return PrequentialResult(
            **parts, **facts["plain"], events=tuple(zip(*columns, strict=True))
        )


def read_facts(file: Path) -> Facts | None:
    """Return the facts of a record, None if the file cannot be used, as after a power failure."""
    try:  # opened here: numpy leaves a file open that is no archive
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            return json.loads(arrays["facts"].item())
    except (OSError, ValueError, KeyError, TypeError, BadZipFile, EOFError):
        return None


def write_record(folder: Path, facts: Facts, result: PrequentialResult) -> None:
    """Write the record of a run.

    It is put in its place at the end, so a process that is killed leaves no half of it. Waiting for
    the disk would cost more than some of the runs; a file that a power failure cut is made again.
    """
    values = {one.name: getattr(result, one.name) for one in fields(result)}
    columns = list(zip(*values.pop("events"), strict=True)) or [(), (), ()]
    for name, column, kind in zip(EVENTS, columns, ("i8", "U8", "i8"), strict=True):
        values[name] = np.array(column, dtype=kind)
    arrays: dict[str, Any] = {
        name: value for name, value in values.items() if isinstance(value, np.ndarray)
    }
    plain = {name: value for name, value in values.items() if name not in arrays}
    arrays["facts"] = np.array(json.dumps(facts | {"plain": plain}))
    part = folder / f".{uuid4().hex}.part"
    try:
        with part.open("wb") as file:
            np.savez(file, **arrays)
        os.replace(part, folder / f"{facts['key']}.npz")
    finally:
        part.unlink(missing_ok=True)


# -- doing runs -----------------------------------------------------------------------------


def do_runs(runs: Sequence[Run]) -> Iterator[tuple[Facts, PrequentialResult]]:
    """Yield facts and result of runs that share a fitted model, as they end."""
    one = runs[0]
    with one_blas_thread(), named(one.label), collected() as found:
        begin = time.perf_counter()
        model = fit(
            one.model, take_rows(one.table.X, one.fit_rows), take_rows(one.table.Y, one.fit_rows)
        )
        seconds = time.perf_counter() - begin
    for one in runs:
        with one_blas_thread(), named(one.label), collected() as further:
            fitted = model if one is runs[-1] else copy_fitted(model)
            result = stream(fitted, one)
            noted = None if one.note is None else take_note(one.note, fitted, result)
        yield (
            {
                "key": one.key,
                "label": one.label,
                "noted": noted,
                "seconds": result.seconds,
                "fit_seconds": seconds,
                "warnings": in_lines([*found, *further]),
                "method": provenance.method(),
                "versions": provenance.versions(),
                "machine": provenance.machine(),
            },
            result,
        )


@contextmanager
def named(label: str) -> Iterator[None]:
    """Let errors of a run say which one it was, in one line."""
    try:
        yield
    except Exception as error:
        kind = ValueError if isinstance(error, ValueError) else RuntimeError  # of what was given
        words = " ".join(str(error).split())
        raise kind(f"{label}: {type(error).__name__}: {words}") from error


@contextmanager
def collected() -> Iterator[list[warnings.WarningMessage]]:
    """Collect warnings, which belong to a record and not on the screen of a worker."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def in_lines(found: list[warnings.WarningMessage]) -> list[str]:
    """Return what warnings say, each once and in one line."""
    lines = (f"{one.category.__name__}: {' '.join(str(one.message).split())}" for one in found)
    return list(dict.fromkeys(lines))[:MOST_WARNINGS]


def fit(model: Any, X: Any, Y: Floats) -> Any:
    """Return a copy of a model that has learned the rows, in whichever way it can.

    Of a model from elsewhere that has ``fit``, rows that lack a label are left out, as in a stream.
    One that learns row by row only goes through the rows.
    """
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
    if hasattr(last, "begin_stream") or hasattr(last, "learn_one") or Y.shape[1:] != (1,):
        return Y
    return Y[:, 0]


def copy_fitted(model: Any) -> Any:
    """Return an independent copy of a fitted model.

    Our learners copy themselves ten times as fast as `deepcopy` copies them, and a stream of some
    hundred rows takes hardly longer than that.
    """
    if not hasattr(model, "begin_stream"):
        return deepcopy(model)
    twin = copy(model)
    for name, value in vars(model).items():
        setattr(twin, name, value.copy() if isinstance(value, Guarded) else deepcopy(value))
    return twin


def stream(model: Any, run: Run) -> PrequentialResult:
    """Send a fitted model through the stream of a run."""
    active = run.active
    if active is not None:  # a new one with the same options
        options = describe_active(active)
        if options["random_state"] is None:
            options["random_state"] = run.seed
        active = type(active)(**options)
    return prequential(
        model,
        take_rows(run.table.X, run.stream_rows),
        own_shape(model, take_rows(run.table.Y, run.stream_rows)),
        active=active,
        learn=run.learn,
        delay=run.delay,
        progress=False,
    )


def take_note(note: Note, model: Any, result: PrequentialResult) -> Facts:
    """Return what is noted of a run; refuse what would not come back from JSON as it was."""
    found = note(model, result)
    try:
        back = json.loads(json.dumps(found))
        whole = isinstance(found, dict) and (back == found or repr(back) == repr(found))  # NaN
    except TypeError:
        whole = False
    if not whole:
        raise TypeError(
            f"note must return a dict of numbers and words, by words, also in lists and dicts; got"
            f" {found!r:.60}."
        )
    return found
