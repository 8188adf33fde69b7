"""A pass over a stream that can stop after any block of rows and go on later, also from a file.

A model gives the same bits whatever the blocks are, so a run that was kept in a file after some
block ends like one that was never interrupted.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.evaluation import PrequentialResult
from efcml.evaluation.stream_pass import StreamPass, begin_pass
from efcml.saving import pack, read, unpack, write
from efcml.studies.provenance import digest, sources
from efcml.support.aliases import Arrays, Facts
from efcml.support.files import make_folder
from efcml.support.progress import progress_bar
from efcml.support.states import nest, pick

if TYPE_CHECKING:
    from efcml.active import ActiveLearner
    from efcml.datasets import Dataset

BY_ROW = ("scores", "rules", "queried", "decisions", "probabilities")  # arrays of a result
SECONDS_BETWEEN = 5.0  # two writings of the file


class StreamRun:
    """A model on its way through the stream of a data set, and what was recorded so far.

    ``checkpoint`` is the file where both are kept, if they are to be.
    """

    def __init__(
        self, model: Any, active: ActiveLearner | None, ds: Dataset, learn: bool, checkpoint: Any
    ) -> None:
        self.model, self.active, self.learn, self.checkpoint = model, active, learn, checkpoint
        self.X, self.Y = ds.stream
        self.earlier: PrequentialResult | None = None  # what the file had
        self.rest: StreamPass | None = None  # what is done since then
        self.done = 0  # rows
        self.last = time.monotonic()
        if checkpoint is not None:
            make_folder(checkpoint.parent)
            asks = active and (active.budget, active.unit, active.criteria, active.random_state)
            # Of a table also what was learned: the same features may be of other words.
            words = ds.table and vars(ds.table)
            what = repr((ds.n_initial, words, type(model), learn, asks))
            self.about = digest(
                ds.X, ds.Y, model.get_params(), what, asks
            )  # what tells it from others
            self.code = sources()  # other code would go on otherwise than it began

    @property
    def finished(self) -> bool:
        """Whether all rows are done."""
        return self.done == len(self.Y)

    def go_on(self) -> None:
        """Run the rest of the stream; an interrupt ends it after a whole block."""
        if self.finished:
            return
        rest = slice(self.done, None)
        self.rest = begin_pass(
            self.model, self.X[rest], self.Y[rest], self.active, learn=self.learn
        )
        if not self.done:
            self.write()

        def after_block(rows: int) -> None:
            self.done += rows
            bar.update(rows)
            if time.monotonic() - self.last >= SECONDS_BETWEEN:
                self.write()

        try:
            with progress_bar(len(self.Y), "learning", initial=self.done) as bar:
                self.rest.go(after_block=after_block)
        except KeyboardInterrupt:
            if not self.done:
                raise
        self.write()

    def result(self) -> PrequentialResult:
        """Return what `prequential` would have returned for the rows done."""
        first, n = self.earlier, 0 if self.earlier is None else len(self.earlier.Y)
        then = None if self.rest is None else self.rest.result(self.done - n)
        if first is None or then is None:
            return first or then  # type: ignore[return-value]  # there is one
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(first, name), getattr(then, name)]) for name in BY_ROW
        }
        joined["events"] = (*first.events, *((n + row, *event) for row, *event in then.events))
        return replace(then, Y=self.Y[: self.done], seconds=first.seconds + then.seconds, **joined)

    def write(self) -> None:
        """Write the file, as a whole or not at all."""
        if self.checkpoint is None:
            return
        result = self.result()
        record: dict[str, Any] = {name: getattr(result, name) for name in BY_ROW}
        content = {"about": self.about, "code": self.code, "done": self.done}
        content |= {"seconds": result.seconds, "events": result.events}
        parts = {"record": record}
        for name in ("model", "active"):
            if getattr(self, name) is not None:
                content[name], parts[name] = pack(getattr(self, name))
        write(self.checkpoint, content, nest(**parts))
        self.last = time.monotonic()

    def take_up(self) -> bool:
        """Go on from the file, if it is there; return whether it is.

        One of another run is refused and stays as it is.
        """
        if self.checkpoint is None or not self.checkpoint.exists():
            return False
        read(self.checkpoint, self._restore)
        return True

    def _restore(self, content: Facts, arrays: Arrays) -> None:
        """Go on from what a file has; refuse that of another run."""
        if content.get("about") != self.about:
            why = "it is no checkpoint of this run, or of other data or options"
            raise ValueError(f"{why}: delete it or give another file")
        if content.get("code") != self.code:
            why = "other code of efcml wrote it"
            raise ValueError(f"{why}: go on with that, or delete the file to begin anew")
        record, self.done = pick(arrays, "record"), content["done"]
        whole = {"events": tuple(map(tuple, content["events"])), "seconds": content["seconds"]}
        self.earlier = PrequentialResult(Y=self.Y[: self.done], **whole, **record)
        for name in ("model", "active"):
            if name in content:
                setattr(self, name, unpack(content[name], pick(arrays, name)))
