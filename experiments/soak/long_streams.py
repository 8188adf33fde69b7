"""Long drifting streams: a sound state, flat memory, and a learner that goes on adapting.

Every block of rows is drawn from its number, so a stream needs no memory and can be taken up where
it ended: the learner and the figures so far are kept in a file after every block.

    python experiments/soak/long_streams.py --out experiments/results/soak/long_streams.json
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

from efcml import EFCMLClassifier, load, save
from efcml.model.trace import Trace
from efcml.studies.provenance import method
from efcml.support.folders import replacing

sys.path.insert(0, str(Path(__file__).resolve().parent))

from drift_cycles import DriftCycles
from phase_figures import faults_of_phases, look_at_phase, summarise_phases
from state_checks import look_at

BLOCK = 10_000  # rows
TENTHS = 10
PA_NOISE = 0.01  # between tenths, as rules come and go
SETTINGS = {
    "max_rules": 30,
    "bandwidth": 1.0,
    "alpha": 0.01,
    "beta": 0.1,
    "prior": 1.0,
    "warmup_rows": 500,
}
CASES = {
    f"p={p}, forgetting {forgetting:g}": {
        "shape": {
            "rows": rows,
            "p": p,
            "K": 6,
            "clusters": clusters,
            "radius": radius,
            "turns": turns,
        },
        **SETTINGS,
        "forgetting": forgetting,
        "vigilance": vigilance,
    }
    for rows, p, clusters, radius, turns, vigilance in (
        (1_000_000, 20, 20, 8.0, 0.5, 0.7),
        (200_000, 100, 12, 30.0, 0.25, 0.6),
    )
    for forgetting in (1.0, 0.999)
}
# Everything that drifts, and the model as it is by default.
CASES["p=20, all drifts"] = {
    "shape": {"rows": 1_000_000, "p": 20, "K": 6, "phase": BLOCK},
}


class DriftingStream:
    """Clusters that travel on circles, whose label directions turn as they go.

    Turning keeps the difficulty: what a learner reaches late tells whether it still learns.
    """

    def __init__(self, rows, p, K, clusters, radius, turns, seed=0):
        self.rows, self.p, self.K, self.turns, self.seed = rows, p, K, turns, seed
        rng = np.random.default_rng(seed)
        self.centers = rng.normal(size=(clusters, p)) * radius / np.sqrt(p)
        self.directions = rng.normal(size=(clusters, p, K)) / np.sqrt(p)

    def block(self, start, count):
        """Return features and labels of the rows ``start`` to ``start + count``."""
        rng = np.random.default_rng([self.seed, start])
        angle = 2.0 * np.pi * self.turns * (start + np.arange(count)) / self.rows
        cluster = rng.integers(len(self.centers), size=count)
        around = rng.normal(size=(count, self.p))
        X = turn(self.centers[cluster], angle) + around
        scores = np.einsum("np,npk->nk", turn(around, -angle), self.directions[cluster])
        noise = 0.3 * rng.normal(size=scores.shape)
        return X, (scores + noise > 0.0).astype(float)


def turn(points, angle):
    """Turn every row by its angle in the planes of columns (0, 1), (2, 3), ..."""
    first, second = points[:, 0::2], points[:, 1::2]
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    turned = np.empty_like(points)
    turned[:, 0::2] = cos * first - sin * second
    turned[:, 1::2] = sin * first + cos * second
    return turned


def resident_megabytes():
    """Return the memory that this process occupies."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class LongRun:
    """One learner on its way through one stream, and what was seen of it.

    A shape with phases is that of `DriftCycles`; there a block is one phase.
    """

    def __init__(self, folder, name, shape, block=BLOCK, **parameters):
        self.place = Path(folder) / "".join(c if c.isalnum() else "_" for c in name)
        self.stream = (DriftCycles if "phase" in shape else DriftingStream)(**shape)
        self.block = shape.get("phase", block)
        self.model = EFCMLClassifier(**parameters)
        named = {name: getattr(self.model, name) for name in ("forgetting", "max_rules")}
        self.figures = {**shape, **parameters, **named, "blocks": []}
        self.frozen = None  # the learner as it was after the second tenth
        if self._file("figures.json").exists():
            self.figures = json.loads(self._file("figures.json").read_text())
            self.model = load(self._file(f"{self.done}.npz"))
            if self._file("frozen.npz").exists():
                self.frozen = load(self._file("frozen.npz"))

    def _file(self, end):
        return self.place.with_name(f"{self.place.name}-{end}")

    @property
    def done(self):
        """Rows learned so far."""
        return self.figures["blocks"][-1]["end"] if self.figures["blocks"] else 0

    def go_on(self):
        """Learn one block, look at the state, keep both; return whether rows are left."""
        start, total = self.done, self.stream.rows
        X, Y = self.stream.block(start, min(self.block, total - start))
        learner, X, Y = self.model.begin_stream(X, Y)
        trace = Trace.for_rows(len(X), self.stream.K)
        begin = time.process_time()  # of the processor: a run may be paused
        learner.learn(X, Y, trace)
        seconds = time.process_time() - begin
        seen = {"end": start + len(X), "seconds": seconds, **look_at(learner)}
        seen["scores_finite"] = bool(np.isfinite(trace.scores).all())
        right = ((trace.scores >= 0.5) == Y).mean(axis=1)
        seen["pa"] = float(right.mean())
        if self.frozen is not None:
            seen["frozen_pa"] = round(float((self.frozen.predict(X) == Y).mean()), 5)
        if isinstance(self.stream, DriftCycles):
            seen |= look_at_phase(self.stream, start, right, trace.events)
        seen |= {"rules": learner.n_rules, **learner.counts}
        seen["scale_changes"] = list(learner.following.changes)
        seen["megabytes"] = resident_megabytes()
        self._keep(seen)
        return self.done < total

    def _keep(self, seen):
        before, after = self._file(f"{self.done}.npz"), self._file(f"{seen['end']}.npz")
        save(self.model, after)
        if self.frozen is None and seen["end"] >= 2 * self.stream.rows // TENTHS:
            save(self.model, self._file("frozen.npz"))
            self.frozen = load(self._file("frozen.npz"))
        self.figures["blocks"].append(seen)
        with replacing(self._file("figures.json")) as file:  # from here on, the new state counts
            file.write(json.dumps(self.figures).encode())
        before.unlink(missing_ok=True)


def summarise(figures):
    """Return the figures of a whole stream in one dictionary.

    Memory counts from the third tenth on, when the frozen twin is there.
    """
    blocks, rows = figures["blocks"], figures["rows"]
    tenth = [-(-TENTHS * block["end"] // rows) for block in blocks]

    def mean(name, number):
        found = [b[name] for b, t in zip(blocks, tenth, strict=True) if t == number and name in b]
        return float(np.mean(found))

    def worst(which, *names):
        return {name: which(b[name] for b in blocks) for name in names}

    memory = [b["megabytes"] for b, t in zip(blocks, tenth, strict=True) if t > 2]
    happened = ("repairs", "births", "splits", "merges", "drops", "drifts", "scale_changes")
    return {
        **{name: figures[name] for name in ("rows", "p", "K", "forgetting", "max_rules")},
        "finite": all(b["finite"] and b["scores_finite"] for b in blocks),
        "memories_agree": all(b["memories_agree"] for b in blocks),
        **worst(min, "least_eigenvalue", "gaussians_least", "cases_least"),
        **worst(max, "inverse_off", "gradient_off", "gaussians_off", "cases_off"),
        "most_rules": max(b["rules"] for b in blocks),
        **{name: blocks[-1][name] for name in happened},
        "memory_growth": max(memory) / memory[0] - 1.0,
        "megabytes": max(memory),
        "minutes": sum(b["seconds"] for b in blocks) / 60.0,
        "first_pa": mean("pa", 1),
        "second_pa": mean("pa", 2),
        "late_pa": mean("pa", TENTHS),
        "frozen_late_pa": mean("frozen_pa", TENTHS),
        **({"phase": figures["phase"]} if "phase" in figures else {}),
        **({"phases": summarise_phases(blocks)} if "phase" in figures else {}),
    }


def faults_of(summary):
    """Return what a summary shows that must not be, in words."""
    faults = []
    if not summary["finite"]:
        faults.append("NaN or infinity")
    if summary["least_eigenvalue"] <= 0.0:
        faults.append("P is not positive definite")
    if not summary["inverse_off"] <= 1e-6:
        faults.append("P is not the inverse of G + Delta")
    if not summary["gradient_off"] <= 1e-6:
        faults.append("D is not the gradient at W")
    if not summary["gaussians_off"] <= 1e-6 or summary["gaussians_least"] <= 0.0:
        faults.append("the Gaussians of a rule do not belong together")
    if not summary["memories_agree"]:
        faults.append("the two memories are not of the same rules")
    if not summary["cases_off"] <= 1e-6 or summary["cases_least"] <= 0.0:
        faults.append("the cases have lost their inverse, or their covariance is not positive")
    if summary["most_rules"] > summary["max_rules"]:
        faults.append("more rules than the cap")
    if summary["memory_growth"] > 0.05:
        faults.append("the memory grows")
    faults += faults_of_learning(summary)
    if "phases" in summary:
        faults += faults_of_phases(summary["phases"], summary["phase"])
    return faults


def faults_of_learning(summary):
    """Return whether a learner that forgets has got worse, or need not have learned."""
    faults = []
    if summary["forgetting"] == 1.0:
        return faults
    if summary["late_pa"] < max(summary["first_pa"], summary["second_pa"]) - PA_NOISE:
        faults.append("the learner gets worse")
    if summary["frozen_late_pa"] >= summary["late_pa"] - 0.02:
        faults.append("the frozen twin is as good: the stream does not drift")
    return faults


def main():
    """Run all streams, one after the other, and write the figures after each one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--state", type=Path, default=Path("experiments/soak/state"))
    parser.add_argument("--only", choices=CASES)
    options = parser.parse_args()
    state = options.state / method()  # what an older method has begun is not taken up
    state.mkdir(parents=True, exist_ok=True)
    found = json.loads(options.out.read_text()) if options.out.exists() else {}
    for name in [options.only] if options.only else CASES:
        run = LongRun(state, name, **CASES[name])
        while run.done < run.stream.rows and run.go_on():
            last = run.figures["blocks"][-1]
            print(f"{name}: {last['end']} rows, PA {last['pa']:.3f}", flush=True)
        found[name] = {"method": method()} | summarise(run.figures)
        found[name]["faults"] = faults_of(found[name])
        options.out.write_text(json.dumps(found, indent=1) + "\n")
        print(f"{name}: {'; '.join(found[name]['faults']) or 'holds'}", flush=True)
    return int(any(one["faults"] for one in found.values()))


if __name__ == "__main__":
    raise SystemExit(main())
