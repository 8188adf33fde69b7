"""Runs, and the folder that keeps them by their content: what is there is not run again.

A run fits a model to some rows and sends it through others, test-then-train. Its key stands for
all that the result depends on: model, rows, order, options, and the code (`provenance.digest`). So
studies and searches may share a folder, and after a change of any of these there is nothing to
delete.
"""

import json
import shutil
import time
import warnings
import weakref
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from efcml.evaluation import PrequentialResult, prequential
from efcml.evaluation.adapters import last_step, take_rows
from efcml.studies.provenance import digest, made_by, sources
from efcml.support.aliases import Facts, Floats, Ints, PathLike
from efcml.support.files import make_folder, replacing
from efcml.support.guard import one_blas_thread

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

    @cached_property
    def fit_key(self) -> str:
        """What stands for all that the fitted model depends on."""
        return digest(sources(), self.model, self.table.key, np.r_[self.fit_rows])

    @cached_property
    def key(self) -> str:
        """What stands for all that the record depends on."""
        asks = self.active and [type(self.active), describe_active(self.active), self.seed]
        return digest(self.fit_key, self.stream_rows, asks, self.delay, self.learn)


def describe_active(active: Any) -> Facts:
    """Return the options of an active learner."""
    return {name: getattr(active, name) for name in signature(type(active)).parameters}


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

    def file(self, run: Run) -> Path:
        """Return where the record of a run is, or will be."""
        return self.folder / f"{run.key}.npz"

    def __contains__(self, run: Run) -> bool:
        return self.file(run).exists()

    def facts(self, run: Run) -> Facts:
        """Return how a run was made: seconds, warnings, method, versions and machine."""
        if run not in self:
            raise ValueError(f"{run.label} is not run yet: call study.run().")
        with np.load(self.file(run)) as arrays:
            return json.loads(arrays["facts"].item())

    def result(self, run: Run) -> PrequentialResult:
        """Return what `prequential` gave."""
        facts = self.facts(run)
        with np.load(self.file(run), allow_pickle=False) as file:
            arrays: dict[str, Any] = {name: file[name] for name in file.files if name != "facts"}
        events = tuple(map(tuple, facts["plain"]["events"]))
        return PrequentialResult(**arrays, events=events, seconds=facts["seconds"])


def write_record(folder: Path, facts: Facts, result: PrequentialResult) -> None:
    """Write the record of a run; a process that is killed leaves no half of it."""
    arrays: Facts = {k: one for k, one in vars(result).items() if isinstance(one, np.ndarray)}
    facts = facts | {"plain": {"events": result.events}}
    with replacing(folder / f"{facts['key']}.npz") as file:
        np.savez(file, **arrays, facts=np.array(json.dumps(facts)))


def do_run(run: Run) -> tuple[Facts, PrequentialResult]:
    """Return facts and result of a run; errors say in one line which run they are of."""
    try:
        # Warnings belong to the record and not on the screen of a worker.
        with one_blas_thread(), warnings.catch_warnings(record=True, action="always") as warned:
            model, seconds, before = fitted(run)
            result = stream(model, run)
    except Exception as error:
        kind = ValueError if isinstance(error, ValueError) else RuntimeError  # of what was given
        words = " ".join(str(error).split())
        raise kind(f"{run.label}: {type(error).__name__}: {words}") from error
    lines = [f"{one.category.__name__}: {one.message}" for one in [*before, *warned]]
    lines = list(dict.fromkeys(" ".join(line.split()) for line in lines))[:MOST_WARNINGS]
    facts = {"key": run.key, "label": run.label, "seconds": result.seconds, "fit_seconds": seconds}
    return facts | {"warnings": lines} | made_by(), result


last_fit: dict[str, Any] = {}  # model, seconds and warnings of what this process fitted last


def fitted(run: Run) -> tuple[Any, float, list[warnings.WarningMessage]]:
    """Return a fitted model, the seconds it took and its warnings; several orders share a fit."""
    if run.fit_key not in last_fit:
        X, Y = (take_rows(one, run.fit_rows) for one in (run.table.X, run.table.Y))
        begin = time.perf_counter()
        with warnings.catch_warnings(record=True, action="always") as warned:
            model = fit(run.model, X, Y)
        last_fit.clear()
        last_fit[run.fit_key] = model, time.perf_counter() - begin, warned
    model, *others = last_fit[run.fit_key]
    return deepcopy(model), *others


def fit(model: Any, X: Any, Y: Floats) -> Any:
    """Return a copy of a model that is fitted to the rows.

    Of a model from elsewhere, rows that lack a label are left out, as in a stream.
    """
    model = deepcopy(model)
    if hasattr(last_step(model), "begin_stream"):
        return model.fit(X, Y)
    known = ~np.isnan(Y).any(axis=1)
    model.fit(take_rows(X, known), own_shape(model, Y[known]).astype(int))
    return model


def own_shape(model: Any, Y: Floats) -> Floats:
    """Return labels as a model takes them: a single one flat, if it is not ours."""
    ours = hasattr(last_step(model), "begin_stream")
    return Y if ours or Y.shape[1:] != (1,) else Y[:, 0]


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
