"""A stream in which everything that can drift does so, again and again.

Rows are those of the built-in drift streams (efcml/datasets/drift_streams.py): six clusters, each
with two directions of its own that the moods follow, and labels that are thresholds on mixes of the
moods. They come in phases, and ten phases make a cycle. A phase begins with a change and is calm
from its middle on:

- ``elsewhere``: all rows lie 20 deviations away from where they lay before, by features that are
  drawn for the cycle, and follow other directions there. They stay in that place for the cycle.
  With every second cycle some features are told in other units as well, by a factor of 1000.
- ``reversed``: all directions are reversed (abrupt).
- ``back``: they are as in ``elsewhere`` (recurring).
- ``gradual``: a row follows the old directions or others; the chance of these grows from 0 to 1.
- ``local``: one cluster, in every cycle another one, has its directions reversed.
- ``labels``: that is over, and the moods of all rows are turned by 120 degrees (labels alone). In
  the middle of the calm there is one wild row.
- ``older``: the directions are those of ``elsewhere`` in the cycle before (abrupt, and recurring
  from long ago).
- ``shift``: some features are shifted by 20 of their deviations, and a wild row follows soon.
- ``units``: the shift is over, and the units of some features change by a factor of 1000.
- ``waking``: that is over, too, and a feature that was constant in all other phases varies. There
  are two of these, for even and odd cycles. How much they vary is not the same in all cycles.

Rows are drawn in small portions, each from its number: a block has the same bits wherever it
begins, and nothing is remembered.
"""

import numpy as np

from efcml.datasets.synthetic import (
    N_CLUSTERS,
    add_common,
    draw_around_centers,
    draw_directions,
    draw_labels,
    draw_world,
    rotate,
)

PHASES = (
    *("elsewhere", "reversed", "back", "gradual", "local", "labels", "older"),
    *("shift", "units", "waking"),
)
CONCEPT_PHASES = PHASES[1:7]  # in which the same rows have other labels than before
SCALE_PHASES = "elsewhere", *PHASES[7:]  # in which features are not where they were
PORTION = 50  # rows that are drawn together
CALM = 0.5  # share of a phase after which nothing changes
NOISE = 0.4
LABEL_TURN = np.deg2rad(120.0)

PERIOD, SHIFTED, RESCALED = 10, (0, 4), (1, 5)  # columns, which come again every ten
SLEEPERS = 2, 3
SHIFT, FACTOR, CONSTANT = 20.0, 1000.0, 1000.0
WAKING_SPREADS = 1.0, 10.0, 0.01
WILD = 1e9
WILD_SOON = 30  # row of ``shift``: rows are held then
WORLD, ROWS, CONCEPTS, HOMES = range(4)  # what is drawn, each from a seed of its own


class DriftCycles:
    """The rows of the stream; ``phase`` is the number of rows of one."""

    def __init__(self, rows, p, K, phase, seed=0):
        if phase % PORTION:
            raise ValueError(f"phase is {phase}: give a multiple of {PORTION}")
        self.rows, self.p, self.K, self.phase, self.seed = rows, p, K, phase, seed
        self.world = world = draw_world(np.random.default_rng([seed, WORLD]), p, K)
        centers, shapes = world.centers[:N_CLUSTERS], world.shapes[:N_CLUSTERS]
        self.mean = centers.mean(axis=0)
        self.deviation = np.sqrt(centers.var(axis=0) + (shapes**2).sum(axis=1).mean(axis=0))

    def place(self, row):
        """Return the cycle of a row and the name of its phase."""
        cycle, phase = divmod(row // self.phase, len(PHASES))
        return cycle, PHASES[phase]

    def is_calm(self, start, count):
        """Tell which of some rows are in the calm part of their phase."""
        return (start + np.arange(count)) % self.phase >= CALM * self.phase

    def block(self, start, count):
        """Return features and labels of the rows ``start`` to ``start + count``."""
        first, last = start // PORTION, -(-(start + count) // PORTION)
        parts = [self._draw(portion) for portion in range(first, last)]
        inside = slice(start - first * PORTION, start - first * PORTION + count)
        X, Y = (np.concatenate(part)[inside] for part in zip(*parts, strict=True))
        return X, Y

    def _draw(self, portion):
        rng = np.random.default_rng([self.seed, ROWS, portion])
        cycle, phase = self.place(portion * PORTION)
        within = np.arange(portion * PORTION, (portion + 1) * PORTION) % self.phase
        cluster = rng.integers(N_CLUSTERS, size=PORTION)
        around = draw_around_centers(rng, self.world, cluster)
        is_new = rng.random(PORTION) < within / (CALM * self.phase)
        moods = self._moods(cycle, phase, cluster, around, is_new)
        Y = draw_labels(rng, moods, self.world, NOISE)
        X = self._tell(cycle, phase, self.world.centers[cluster] + around)
        wild = {"shift": WILD_SOON, "labels": self.phase * 3 // 4}
        X[within == wild.get(phase, -1)] = WILD
        return X, Y

    def _directions(self, cycle, number):
        """Return one of the two sets of directions that are drawn for a cycle."""
        return draw_directions(np.random.default_rng([self.seed, CONCEPTS, cycle, number]), self.p)

    def _moods(self, cycle, phase, cluster, around, is_new):
        """Return the moods of rows: what the phase makes of the directions, and the offsets."""

        def follow(directions):
            return np.einsum("ni,nij->nj", around, directions[cluster])

        own = follow(self._directions(cycle, 0))
        if phase == "reversed":
            own = -own
        elif phase == "gradual":
            own = np.where(is_new[:, None], follow(self._directions(cycle, 1)), own)
        elif phase in ("local", "labels"):
            own = follow(self._directions(cycle, 1))
        elif phase not in ("elsewhere", "back"):
            own = follow(self._directions(max(cycle - 1, 0), 0))
        if phase == "local":
            own[cluster == cycle % N_CLUSTERS] *= -1.0
        moods = add_common(own, around, self.world) + self.world.offsets[cluster]
        return rotate(moods, np.full(len(moods), LABEL_TURN * (phase == "labels")))

    def _tell(self, cycle, phase, X):
        """Return features as the phase tells them, in the place of the cycle."""
        columns = np.arange(self.p)
        asleep = np.isin(columns, SLEEPERS)
        rng = np.random.default_rng([self.seed, HOMES, cycle])
        X = X + SHIFT * self.deviation * np.where(asleep, 0, rng.integers(-1, 2, size=self.p))
        if phase == "waking":
            awake = SLEEPERS[cycle % len(SLEEPERS)]
            spread = WAKING_SPREADS[cycle // len(SLEEPERS) % len(WAKING_SPREADS)]
            value = (X[:, awake] - self.mean[awake]) / self.deviation[awake]
            X[:, awake] = CONSTANT + spread * value
            asleep[awake] = False
        X[:, asleep] = CONSTANT
        if phase == "shift":
            X += SHIFT * self.deviation * np.isin(columns % PERIOD, SHIFTED)
        if (phase == "units") != (cycle // 2 % 2 == 1):
            X *= np.where(np.isin(columns % PERIOD, RESCALED), FACTOR, 1.0)
        return X
