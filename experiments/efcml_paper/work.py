"""The runs that are missing, on all cores or on a cluster, records kept as they come."""

import os
import warnings
from contextlib import closing
from dataclasses import dataclass

from efcml.model.warm import warmup
from efcml.support.cluster import run_dask
from efcml.support.jobs import run_local
from efcml.support.progress import in_words, progress_bar
from efcml_paper.cost import seconds_of
from efcml_paper.execute import execute

BAR = "{desc} {percentage:3.0f}%|{bar}| [{elapsed} so far, about {remaining} left]"


@dataclass(frozen=True)
class Workers:
    """Where runs are done: processes of this machine, or a Dask cluster."""

    jobs: int = 1
    dask: object = None

    @property
    def count(self):
        """Number of processes, as far as it is known here."""
        return max(os.cpu_count() if self.jobs == -1 else self.jobs, 1)

    def run(self, runs):
        """Return a generator of the records of runs, as they are finished."""
        if self.dask is not None:
            return run_dask(runs, self.dask, function=execute)
        return run_local(runs, self.jobs, function=execute)


def find_missing(runs, records):
    """Return the runs without a record that counts, each once, cheap ones first.

    Runs of one fitted model stay together, so that a process fits it once.
    """
    missing = [run for run in dict.fromkeys(runs) if not records.is_current(run)]
    groups = {}
    for run in missing:
        groups.setdefault((run.alone, run.fitting), []).append(run)
    ordered = sorted(groups.items(), key=lambda item: (item[0][0], min(map(seconds_of, item[1]))))
    return [run for _, group in ordered for run in group]


def run_missing(runs, records, workers, *, say=print, progress=None):
    """Do what is missing; timed runs come last, one at a time, in this process."""
    missing = find_missing(runs, records)
    old = sum(records.of(run) is not None for run in missing)
    if old:
        say(f"{old} records come from another method or data and are made again")
    if not missing:
        return
    estimate = sum(map(seconds_of, missing)) / workers.count
    known = len(dict.fromkeys(runs)) - len(missing)
    say(f"{len(missing)} runs to do ({known} are there), roughly {in_words(estimate)}")
    warmup()  # compile once, not in every process
    together = [run for run in missing if not run.alone]
    alone = [run for run in missing if run.alone]
    efforts = {run.key: 1 + round(1e3 * seconds_of(run)) for run in missing}
    bar = progress_bar(sum(efforts.values()), "runs", show=progress, bar_format=BAR, smoothing=0)
    done = 0
    try:
        with bar, warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A worker stopped while", UserWarning)  # by itself
            for some, place in ((together, workers), (alone, Workers())):
                # Closed at once, also after Ctrl-C: this ends what is still running.
                with closing(place.run(some)) as found:
                    for record in found:
                        records.add(record)
                        done += 1
                        bar.update(efforts[record["key"]])
                        bar.set_description_str(f"{done} of {len(missing)} runs")
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"after {done} of {len(missing)} runs; the same command goes on from there"
        ) from None
