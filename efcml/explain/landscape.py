"""Where all rules lie, and which features decide that a rule is the one that answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Bools, Floats

LEAST_GAIN = 0.2  # of what the first thing does; one that does less is not worth a term
LEAST_LOSS = 1e-6  # of the lead of a rule
LEAST_LEAD = 0.1  # in squared distances; a rule that leads by less leads by chance


@dataclass(frozen=True, eq=False)
class Landscape:
    """Gaussians of all rules, in scaled units and in the order of the learner's arrays.

    The rule with the least ``distance + log_volume`` is the strongest.
    """

    centers: Floats  # (rules, p)
    covariances: Floats  # (rules, p, p)
    precisions: Floats  # (rules, p, p)
    log_volumes: Floats  # (rules,); 0 where volumes do not count
    rows: Floats  # (rules,), won by each

    @cached_property
    def mean(self) -> Floats:
        """Mean of the rows of all rules (p,)."""
        return self.rows / self.rows.sum() @ self.centers

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of the rows of all rules together (p, p)."""
        share, gaps = self.rows / self.rows.sum(), self.centers - self.mean
        inner = np.tensordot(share, self.covariances, axes=1)
        return inner + (share[:, None] * gaps).T @ gaps

    def telling(
        self, rule: int, blocks: Sequence[Sequence[int]], allowed: Bools, most: int
    ) -> list[int]:
        """Return the blocks of columns that decide most that a rule fires, the first one first.

        Take a row of the rule and give it, in some blocks, the values of a row of a rival. By
        expected distances, which share of the rule's lead over this rival is lost? At most all of
        it. Rivals count by their rows. Blocks are added one by one, each the one that takes most
        beside those before it: so every rival has to be told apart, and what tells only those
        apart that are told apart already adds nothing.
        """
        rivals = [Exchange(self, rule, o, blocks) for o in range(len(self.centers)) if o != rule]
        chosen: list[int] = []
        first = last = 0.0
        while rivals and len(chosen) < min(most, int(allowed.sum())):
            lost = sum(rival.weight * rival.lost(chosen) for rival in rivals)
            lost = np.where(allowed, lost, -np.inf)
            lost[chosen] = -np.inf
            best = int(lost.argmax())
            gain = float(lost[best]) - last
            if gain <= max(LEAST_GAIN * first, LEAST_LOSS):
                break
            first, last = first or gain, float(lost[best])
            chosen.append(best)
        return chosen


class Exchange:
    """The lead of a rule over a rival, at rows of the rule with some blocks of rows of the rival.

    Exchanged blocks have mean and covariance of the rival and know nothing of the other columns;
    the rest has those of the rule. All sums are kept per pair of blocks, of the rule's distance
    minus the rival's.
    """

    def __init__(
        self, land: Landscape, rule: int, rival: int, blocks: Sequence[Sequence[int]]
    ) -> None:
        P, P_rival = land.precisions[rule], land.precisions[rival]
        gap = P_rival - P
        move = land.centers[rival] - land.centers[rule]
        pull = P_rival @ -move  # the rule's own center is where its distance has no slope
        self.own = sum_blocks(gap * land.covariances[rule], blocks)
        self.new = sum_blocks(gap * land.covariances[rival], blocks)
        self.square = sum_blocks(gap * np.outer(move, move), blocks)
        self.slope = np.array([(pull * move)[list(block)].sum() for block in blocks])
        volumes = land.log_volumes[rival] - land.log_volumes[rule]
        self.lead = float(self.own.sum() - pull @ move + volumes)
        self.weight = float(land.rows[rival] / np.delete(land.rows, rule).sum())

    def lost(self, chosen: list[int]) -> Floats:
        """Return the share of the lead that is lost, with each block beside the chosen ones."""
        change, done = 0.0, list[int]()
        for block in chosen:
            change += self._step(done)[block]
            done.append(block)
        left = self.lead + change + self._step(done)
        return np.clip(1.0 - left / max(self.lead, LEAST_LEAD), 0.0, 1.0)

    def _step(self, done: list[int]) -> Floats:
        """Return what exchanging one more block adds to the lead (blocks,)."""
        own, new, square = (np.diagonal(part) for part in (self.own, self.new, self.square))
        broken = self.own.sum(axis=1) - self.own[:, done].sum(axis=1) - own
        joint = self.new[:, done].sum(axis=1) + self.square[:, done].sum(axis=1)
        return new - own + square + 2.0 * (joint - broken + self.slope)


def sum_blocks(values: Floats, blocks: Sequence[Sequence[int]]) -> Floats:
    """Return the sums of a matrix (p, p) over pairs of blocks of columns."""
    if all(len(block) == 1 for block in blocks):
        order = [block[0] for block in blocks]
        return values[np.ix_(order, order)]
    member = np.zeros((len(blocks), len(values)))
    for i, block in enumerate(blocks):
        member[i, list(block)] = 1.0
    return member @ values @ member.T
