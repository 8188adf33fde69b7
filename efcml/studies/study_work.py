"""The runs that are missing: grouped, sent to where there is room, followed by a bar."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from efcml.studies.cell_run import Batch, run_batch
from efcml.studies.record_folder import RecordFolder, write_record
from efcml.support.progress import progress_bar
from efcml.support.steps import last_step
from efcml.support.watch import busy, ticking

if TYPE_CHECKING:
    from efcml.support.aliases import Floats

    Rows = dict[tuple[str, int], tuple[Floats, Floats]]

BAR = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} runs [{elapsed}, {remaining} left]"


class StudyInterrupted(KeyboardInterrupt):
    """Ctrl-C during a study; what was done is kept."""


def run_batches(
    batches: list[Batch],
    rows: Rows,
    folder: RecordFolder,
    *,
    jobs: int,
    dask: Any,
    progress: bool | None,
) -> None:
    """Do all runs of all batches and keep their records."""
    total = sum(len(batch.passes) for batch in batches)
    keys = [one.facts["key"] for batch in batches for one in batch.passes]
    before = {file: file.stat().st_mtime_ns for file in folder.runs.glob("*.npz")}

    def count() -> int:
        files = folder.runs.glob("*.npz")
        return sum(before.get(file) != file.stat().st_mtime_ns for file in files)

    prepare(batches, dask, progress)
    bar = progress_bar(total, "study", unit="run", show=progress, bar_format=BAR, smoothing=0)
    try:
        with bar, ticking(bar, count), quiet_workers():
            for record in send(batches, rows, folder, jobs, dask):
                if dask is not None:
                    write_record(folder.runs, *record)
    except KeyboardInterrupt:
        raise StudyInterrupted(
            f"after {min(count(), total)} of {total} runs; run() goes on from there"
        ) from None
    finally:
        for key in keys:
            folder.forget(key)


def send(
    batches: list[Batch], rows: Rows, folder: RecordFolder, jobs: int, dask: Any
) -> Iterator[Any]:
    """Yield what comes back from wherever the batches run."""
    if dask is not None:
        from efcml.support.cluster import run_dask

        found = run_dask(batches, dask, rows, function=run_batch)
    else:
        from efcml.support.jobs import run_local

        # The bar and what is kept do not wait for a batch: workers write to the folder.
        own = [replace(one, data=rows[one.source], folder=folder.runs) for one in batches]
        found = run_local(own, jobs, function=run_batch)
    with closing(found) as parts:  # at once, also after Ctrl-C: this ends what is still running
        for part in parts:
            yield from part


def split(batches: list[Batch], workers: int) -> list[Batch]:
    """Return batches for at least so many workers; the parts of a batch are fitted one by one.

    Long ones come first, so that no worker is busy with one while the others have ended.
    """
    while len(batches) < workers:
        longest = max(batches, key=lambda batch: len(batch.passes))
        middle = len(longest.passes) // 2
        if not middle:
            break
        batches = [one for one in batches if one is not longest]
        for some in (longest.passes[:middle], longest.passes[middle:]):
            batches.append(replace(longest, passes=some))
    return sorted(batches, key=lambda batch: -len(batch.passes))


def prepare(batches: Sequence[Batch], dask: Any, progress: bool | None) -> None:
    """Compile once, not in every process."""
    ours = [batch for batch in batches if hasattr(last_step(batch.model), "begin_stream")]
    if dask is None and ours:
        from efcml.model.warm import warmup

        asks = any(one.variant.active is not None for batch in ours for one in batch.passes)
        with busy("compiling, if it is the first time", progress):
            warmup(asks=asks, rare=False)


@contextmanager
def quiet_workers() -> Iterator[None]:
    """Leave out what joblib says when a worker ends by itself."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped while", UserWarning)
        yield
