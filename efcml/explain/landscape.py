"""Where all rules lie, and which features decide that a rule is the one that answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from efcml.support.blas import one_blas_thread

if TYPE_CHECKING:
    from efcml.support.aliases import Bools, Floats

LEAST_GAIN = 0.05  # of what the first thing does; one that does less is not worth a term
LEAST_LOSS = 1e-6  # of the lead of a rule
SMALL_LEAD = 0.1  # of the mean lead; rows that lead by less count as if they led by this


@dataclass(frozen=True, eq=False)
class Landscape:
    """Gaussians of all rules, in scaled units and in the order of the learner's arrays.

    The rule with the least ``distance + log_volume`` is the strongest.
    """

    centers: Floats  # (rules, p)
    covariances: Floats  # (rules, p, p)
    precisions: Floats  # (rules, p, p)
    log_volumes: Floats  # (rules,); 0 where volumes do not count
    shares: Floats  # (rules,), of the rows that each decides; their sum is 1
    samples: tuple[Floats, ...]  # some rows (n, p) of each rule

    @cached_property
    def mean(self) -> Floats:
        """Mean of the rows of all rules (p,)."""
        return self.shares @ self.centers

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of the rows of all rules together (p, p)."""
        gaps = self.centers - self.mean
        inner = np.tensordot(self.shares, self.covariances, axes=1)
        return inner + (self.shares[:, None] * gaps).T @ gaps

    @one_blas_thread()
    def telling(
        self, rule: int, blocks: Sequence[Sequence[int]], allowed: Bools, most: int
    ) -> list[int]:
        """Return the blocks of columns that decide most that a rule fires, the first one first.

        Take a row of the rule and give it, in some blocks, the values of a row of a rival. Which
        share of the rule's lead over this rival is lost? At most all of it. Blocks are added one by
        one, each the one that takes most beside those before it: so every rival has to be told
        apart, and what tells only those apart that are told apart already adds nothing.
        """
        rivals = [Exchange(self, rule, o, blocks) for o in range(len(self.centers)) if o != rule]
        weights = self._weigh_rivals(rule)
        chosen: list[int] = []
        first = last = 0.0
        while rivals and len(chosen) < min(most, int(allowed.sum())):
            lost = sum(w * rival.lost() for w, rival in zip(weights, rivals, strict=True))
            lost = np.where(allowed, lost, -np.inf)
            lost[chosen] = -np.inf
            best = int(lost.argmax())
            gain = float(lost[best]) - last
            if gain <= max(LEAST_GAIN * first, LEAST_LOSS):
                break
            first, last = first or gain, float(lost[best])
            chosen.append(best)
            for rival in rivals:
                rival.take(best)
        return chosen

    def _weigh_rivals(self, rule: int) -> Floats:
        """Return weights of the other rules: half by their rows, half alike.

        So a small rival counts enough that two rules do not end with the same condition.
        """
        others = np.delete(self.shares, rule)
        return 0.5 * others / (others.sum() or 1.0) + 0.5 / max(len(others), 1)


class Exchange:
    """The lead of a rule over a rival, at rows of the rule with some blocks of rows of the rival.

    The lead is the rival's squared distance and log volume minus the rule's.
    """

    def __init__(
        self, land: Landscape, rule: int, rival: int, blocks: Sequence[Sequence[int]]
    ) -> None:
        rows, partners = land.samples[rule], land.samples[rival]
        self.blocks = blocks
        self.gap = np.resize(partners, rows.shape) - rows
        self.precisions = land.precisions[rival], land.precisions[rule]
        self.pulls = [
            (rows - land.centers[o]) @ P
            for o, P in zip((rival, rule), self.precisions, strict=True)
        ]
        distances = [
            ((rows - land.centers[o]) * pull).sum(axis=1) + land.log_volumes[o]
            for o, pull in zip((rival, rule), self.pulls, strict=True)
        ]
        self.lead = distances[0] - distances[1]
        self.left = self.lead.copy()

    def changes(self) -> Floats:
        """Return what exchanging each block would add to the lead (rows, blocks)."""
        (P, P_rule), (pull, pull_rule) = self.precisions, self.pulls
        slopes, curves = 2.0 * (pull - pull_rule), np.diagonal(P) - np.diagonal(P_rule)
        single = self.gap * (slopes + curves * self.gap)
        found = single[:, [block[0] for block in self.blocks]]
        for i, block in enumerate(self.blocks):
            if len(block) > 1:
                columns, gap = list(block), self.gap[:, list(block)]
                inner = gap @ (P - P_rule)[np.ix_(columns, columns)]
                found[:, i] = (gap * (slopes[:, columns] + inner)).sum(axis=1)
        return found

    def lost(self) -> Floats:
        """Return the share of the lead that is lost by each block beside those taken (blocks,)."""
        floor = SMALL_LEAD * max(float(self.lead.mean()), LEAST_LOSS)
        whole = np.maximum(self.lead, floor)[:, None]
        left = self.left[:, None] + self.changes()
        return np.clip((self.lead[:, None] - left) / whole, 0.0, 1.0).mean(axis=0)

    def take(self, block: int) -> None:
        """Exchange a block for good."""
        self.left = self.left + self.changes()[:, block]
        columns = list(self.blocks[block])
        moved = self.gap[:, columns]
        for P, pull in zip(self.precisions, self.pulls, strict=True):
            pull += moved @ P[columns]
        self.gap[:, columns] = 0.0


def draw_rows(center: Floats, covariance: Floats, count: int) -> Floats:
    """Return rows of a Gaussian, always the same."""
    noise = np.random.default_rng(0).normal(size=(count, len(center)))
    return center + noise @ np.linalg.cholesky(covariance).T
