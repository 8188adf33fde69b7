"""The file that ``efcml run`` can be taken up from."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from efcml import __version__
from efcml.cli.stream_run import BY_ROW
from efcml.support.folders import make_folder

if TYPE_CHECKING:
    from efcml.cli.stream_run import StreamRun
    from efcml.datasets import Dataset
    from efcml.support.aliases import Arrays, Facts, Shapes, State

KIND = "checkpoint"
SECONDS_BETWEEN = 2.0  # two writings
WRITES_BETWEEN = 20  # at least as long as so many writings take


class Checkpoint:
    """Keeps a `StreamRun` in a file; without a path it does nothing.

    The file says which data, model and options the run has. One of another run is refused and
    stays as it is.
    """

    def __init__(self, path: Path | None, run: StreamRun, ds: Dataset) -> None:
        self.path, self.run = path, run
        self.last, self.pause = time.monotonic(), SECONDS_BETWEEN
        if path is not None:
            make_folder(path.parent)
            self.about = describe(run, ds)

    def take_up(self) -> bool:
        """Go on from the file, if it is there; return whether it is."""
        from efcml.saving import pick, read_archive, refusing, unpack

        if self.path is None or not self.path.exists():
            return False
        header, arrays = read_archive(self.path, self._expect)
        content, run = header["content"], self.run
        with refusing(self.path):
            run.model = unpack(content["model"], pick(arrays, "model"))
            if run.active is not None:
                run.active = unpack(content["active"], pick(arrays, "active"))
            put_record(run, content["run"], pick(arrays, "run"))
        return True

    def write_now_and_then(self) -> None:
        """Write the file if the last time was long enough ago."""
        if time.monotonic() - self.last >= self.pause:
            self.write()

    def write(self) -> None:
        """Write the file, as a whole or not at all."""
        from efcml.saving import nest, pack, write_archive

        if self.path is None:
            return
        begin = time.monotonic()
        parts = {"model": pack(self.run.model), "run": take_record(self.run)}
        if self.run.active is not None:
            parts["active"] = pack(self.run.active)
        content = {name: facts for name, (facts, _) in parts.items()} | {"about": self.about}
        arrays = nest(**{name: arrays for name, (_, arrays) in parts.items()})
        write_archive(self.path, {"kind": KIND, "content": content}, arrays)
        self.last = time.monotonic()
        self.pause = max(SECONDS_BETWEEN, WRITES_BETWEEN * (self.last - begin))

    def _expect(self, header: Facts) -> Shapes:
        """Return the arrays that the file must hold; refuse one of another run."""
        from efcml.saving import expected, nest, take

        if header["kind"] != KIND:
            raise ValueError(f"it is the file of a {header['kind']}, not a checkpoint of a run")
        run = self.run
        parts = ("model", "run") if run.active is None else ("model", "run", "active")
        about = header["content"].get("about")
        if not isinstance(about, dict) or about.keys() != self.about.keys():
            raise ValueError("it does not say which run it belongs to")
        others = [name for name in self.about if about[name] != self.about[name]]
        if others:
            raise ValueError(
                f"it is the checkpoint of a run with other {' and '.join(others)}: delete it or"
                " give another file"
            )
        content = take(header["content"], "the content", about=dict, **dict.fromkeys(parts, dict))
        tables = {name: expected(content[name]) for name in parts if name != "run"}
        return nest(**{name: tables.get(name) or table_of(run, content["run"]) for name in parts})


def describe(run: StreamRun, ds: Dataset) -> Facts:
    """Return what tells a run from others, as JSON gives it back."""
    from efcml.support.states import fingerprint, to_plain

    active = run.active
    columns = [] if ds.table is None else [repr(ds.table)]  # the same features of other words
    about = {
        "data": [fingerprint(ds.X, ds.Y), ds.n_initial, *columns],
        "model": [type(run.model).__name__, run.learn],
        "parameters": {name: to_plain(value) for name, value in run.model.get_params().items()},
        "budget": None if active is None else [active.budget, active.unit],
        "criteria": None if active is None else active.criteria,
        "seed": None if active is None else active.random_state,
        "version": __version__,
    }
    return json.loads(json.dumps(about))


# -- what was recorded ----------------------------------------------------------------------


def take_record(run: StreamRun) -> State:
    """Return the record of a run as facts and arrays."""
    from efcml.evaluation.prequential_result import EVENTS

    result = run.result()
    events = [(row, EVENTS.index(kind), uid) for row, kind, uid in result.events]
    facts = {"done": run.done, "events": len(events), "seconds": result.seconds}
    facts["counts_clipped"] = result.clipped is not None
    arrays = {name: getattr(result, name) for name in BY_ROW} | {
        "events": np.array(events, dtype=np.int64).reshape(-1, 3),
        "clipped": np.zeros(run.X.shape[1]) if result.clipped is None else result.clipped,
    }
    return facts, arrays


def table_of(run: StreamRun, facts: Facts) -> Shapes:
    """Return the types and shapes of the arrays of a record."""
    from efcml.saving import take

    facts = take(facts, "the record", done=int, events=int, seconds=float, counts_clipped=bool)
    done, events = facts["done"], facts["events"]
    if not 0 <= done <= len(run.Y) or events < 0 or facts["seconds"] < 0:
        raise ValueError("its record has impossible sizes")
    by_row = {name: getattr(run.earlier, name) for name in BY_ROW}
    return {name: (array.dtype.str, (done, *array.shape[1:])) for name, array in by_row.items()} | {
        "events": ("<i8", (events, 3)),
        "clipped": ("<f8", (run.X.shape[1],)),
    }


def put_record(run: StreamRun, facts: Facts, arrays: Arrays) -> None:
    """Put a record into a run that has just begun."""
    from efcml.evaluation import PrequentialResult
    from efcml.evaluation.prequential_result import EVENTS

    kinds = arrays["events"][:, 1]
    probabilities = arrays["probabilities"]
    if (
        ((kinds < 0) | (kinds >= len(EVENTS))).any()
        or not np.isfinite(arrays["scores"]).all()
        or not ((probabilities >= 0.0) & (probabilities <= 1.0)).all()
        or not (arrays["clipped"] >= 0.0).all()
    ):
        raise ValueError("its record of the stream is damaged")
    run.done = facts["done"]
    events = arrays["events"].tolist()
    run.earlier = PrequentialResult(
        Y=run.Y[: run.done],
        events=tuple((row, EVENTS[kind], uid) for row, kind, uid in events),
        seconds=facts["seconds"],
        clipped=arrays["clipped"] if facts["counts_clipped"] else None,
        **{name: arrays[name] for name in BY_ROW},
    )
