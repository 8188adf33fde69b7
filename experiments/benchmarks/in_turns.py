"""CPU of several works that take turns in one process: the least of all turns counts.

A machine that is busy or warm then slows all of them alike.
"""

import argparse
import json
import time
from pathlib import Path

import efcml
from efcml.studies.provenance import machine, method

TURNS = 5


def least_cpu(works, turns):
    """Return the least CPU seconds of each work; each is prepared anew, and all take turns."""
    least = dict.fromkeys(works, float("inf"))
    for _ in range(turns):
        for name, prepare in works.items():
            work = prepare()
            start = time.process_time()
            work()
            least[name] = min(least[name], time.process_time() - start)
    return least


def learning(learner, X, Y):
    """Return what prepares the learning of rows by a copy."""

    def prepare():
        other = learner.copy()
        return lambda: other.learn(X, Y)

    return prepare


def measure_all(description, tasks, measure, tell, arguments):
    """Call ``measure(name, value, turns)`` for each task, tell of it, and write what was found."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, help="write the figures there")
    parser.add_argument("--turns", type=int, default=TURNS)
    given = parser.parse_args(arguments)
    efcml.warmup()
    lines = []
    for name, value in tasks.items():
        lines.append(measure(name, value, given.turns))
        print(tell(lines[-1]), flush=True)
    if given.out:
        record = {"efcml": efcml.__version__, "method": method(), "machine": machine()}
        given.out.write_text(json.dumps(record | {"lines": lines}, indent=1) + "\n")
