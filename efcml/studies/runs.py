"""Runs, and the folder that keeps them by their content: what is there is not run again.

A run fits a model to some rows and sends it through others, test-then-train. Its key stands for
all that the result depends on: model, rows, order, options, and the code of the method. So studies
and searches may share a folder, and after a change of any of these there is nothing to delete.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import warnings
import weakref
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass, fields
from functools import cached_property
from inspect import signature
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4
from zipfile import BadZipFile

import numpy as np

from efcml.evaluation import PrequentialResult, prequential
from efcml.evaluation.pipelines import last_step, take_rows
from efcml.studies.provenance import digest, made_by
from efcml.support.files import make_folder
from efcml.support.guard import Guarded, one_blas_thread

if TYPE_CHECKING:
    from efcml.support.aliases import Facts, Floats, Ints, PathLike

    Note: TypeAlias = Callable[[Any, PrequentialResult], Facts]

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
    return {name: getattr(active, name) for name in signature(type(active)).parameters}


# -- what is kept ---------------------------------------------------------------------------


class RunCache:
    """Records of runs in a folder, a file for each, whole or not there.

    Equal runs give equal files, so two processes that work in one folder do some runs twice and
    spoil nothing: no lock is needed. Without a folder, records go with this object.
    """

    def __init__(self, folder: PathLike | None = None) -> None:
        if folder is None:
            folder = mkdtemp(prefix="efcml-runs-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.folder = Path(folder)
        make_folder(self.folder)
        self._facts: dict[str, Facts] = {}

    def file(self, run: Run) -> Path:
        """Return where the record of a run is, or will be."""
        return self.folder / f"{run.key}.npz"

    def __contains__(self, run: Run) -> bool:
        """Tell whether a record can be used: a power failure may have cut it."""
        if run.key not in self._facts:
            try:  # opened here: numpy leaves a file open that is no archive
                with self.file(run).open("rb") as file, np.load(file) as arrays:
                    facts = json.loads(arrays["facts"].item())
            except (OSError, ValueError, KeyError, TypeError, BadZipFile, EOFError):
                return False
            if facts.get("key") != run.key:
                return False
            self._facts[run.key] = facts
        return True

    def facts(self, run: Run) -> Facts:
        """Return what is kept of a run besides the result."""
        if run not in self:
            raise ValueError(f"{run.label} is not run yet: call study.run().")
        return self._facts[run.key]

    def result(self, run: Run) -> PrequentialResult:
        """Return what `prequential` gave."""
        plain = self.facts(run)["plain"]
        with np.load(self.file(run), allow_pickle=False) as file:
            arrays: dict[str, Any] = {name: file[name] for name in file.files if name != "facts"}
        events = tuple(map(tuple, plain["events"]))
        return PrequentialResult(**arrays, **(plain | {"events": events}))


def write_record(folder: Path, facts: Facts, result: PrequentialResult) -> None:
    """Write the record of a run.

    It is put in its place at the end, so a process that is killed leaves no half of it. Waiting for
    the disk would cost more than some of the runs; a file that a power failure cut is made again.
    """
    values: dict[str, Any] = {one.name: getattr(result, one.name) for one in fields(result)}
    arrays: Facts = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
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


def do_run(run: Run) -> tuple[Facts, PrequentialResult]:
    """Return facts and result of a run; errors say in one line which run they are of."""
    try:
        # Warnings belong to the record and not on the screen of a worker.
        with one_blas_thread(), warnings.catch_warnings(record=True, action="always") as warned:
            model, seconds, before = fitted(run)
            result = stream(model, run)
            noted = None if run.note is None else take_note(run.note, model, result)
    except Exception as error:
        kind = ValueError if isinstance(error, ValueError) else RuntimeError  # of what was given
        words = " ".join(str(error).split())
        raise kind(f"{run.label}: {type(error).__name__}: {words}") from error
    lines = [f"{one.category.__name__}: {one.message}" for one in [*before, *warned]]
    lines = list(dict.fromkeys(" ".join(line.split()) for line in lines))
    facts: Facts = {"key": run.key, "label": run.label, "noted": noted, "seconds": result.seconds}
    facts |= {"fit_seconds": seconds, "warnings": lines[:MOST_WARNINGS]}
    return facts | made_by(), result


_last: dict[str, Any] = {}  # model, seconds and warnings of what this process fitted last


def forget_fitted() -> None:
    """Let go of the model that this process fitted last."""
    _last.clear()


def fitted(run: Run) -> tuple[Any, float, list[warnings.WarningMessage]]:
    """Return a fitted model, the seconds it took and its warnings; several orders share a fit."""
    known = _last.get(run.fit_key)
    if known is None:
        X, Y = (take_rows(one, run.fit_rows) for one in (run.table.X, run.table.Y))
        begin = time.perf_counter()
        with warnings.catch_warnings(record=True, action="always") as warned:
            model = fit(run.model, X, Y)
        known = model, time.perf_counter() - begin, warned
        _last.clear()
        _last[run.fit_key] = known
    model, *others = known
    if not hasattr(model, "begin_stream"):
        return deepcopy(model), *others
    twin = copy(model)  # our learners copy themselves ten times as fast as `deepcopy` does
    for name, value in vars(model).items():
        setattr(twin, name, value.copy() if isinstance(value, Guarded) else deepcopy(value))
    return twin, *others


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


def stream(model: Any, run: Run) -> PrequentialResult:
    """Send a fitted model through the stream of a run."""
    active = run.active
    if active is not None:  # a new one with the same options
        options = describe_active(active)
        if options["random_state"] is None:
            options["random_state"] = run.seed
        active = type(active)(**options)
    X, Y = (take_rows(one, run.stream_rows) for one in (run.table.X, run.table.Y))
    options = {"learn": run.learn, "delay": run.delay, "progress": False}
    return prequential(model, X, own_shape(model, Y), active, **options)


def take_note(note: Note, model: Any, result: PrequentialResult) -> Facts:
    """Return what is noted of a run; refuse what would not come back from JSON as it was."""
    noted = note(model, result)
    try:
        back = json.loads(json.dumps(noted))
        if isinstance(noted, dict) and (back == noted or repr(back) == repr(noted)):  # with NaN
            return noted
    except TypeError:
        pass
    raise TypeError(
        "note must return a dict of numbers and words, by words, also in lists and dicts; got"
        f" {noted!r:.60}."
    )
