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


@dataclass(frozen=True, eq=False)
class Landscape:
    """Gaussians of all rules, in scaled units and in the order of the learner's arrays.

    Activation is the softmax of ``-(distance + log_volume) / (2 bandwidth)``.
    """

    centers: Floats  # (rules, p)
    covariances: Floats  # (rules, p, p)
    precisions: Floats  # (rules, p, p)
    log_volumes: Floats  # (rules,); 0 where volumes do not count
    rows: Floats  # (rules,), won by each
    bandwidth: float

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

        Take a row of the rule and give it the values of any other row in some blocks: by expected
        distances, how much do the rule's log odds against all other rules lose? Blocks are added
        one by one, each the one that takes most beside those before it.
        """
        if len(self.centers) == 1 or not allowed.any():
            return []
        energies = Exchange(self, rule, blocks)
        chosen: list[int] = []
        first, last = 0.0, self._log_odds(energies.start, rule)
        while len(chosen) < most:
            odds = self._log_odds(energies.after(chosen), rule)
            odds[~allowed] = np.inf
            odds[chosen] = np.inf
            best = int(odds.argmin())
            gain = last - odds[best]
            if not np.isfinite(odds[best]) or gain <= LEAST_GAIN * first or gain <= 0.0:
                break
            first, last = first or gain, odds[best]
            chosen.append(best)
        return chosen

    def _log_odds(self, energies: Floats, rule: int) -> Floats:
        """Return the log odds of a rule from expected distances (rules, ...)."""
        volumes = self.log_volumes.reshape(-1, *[1] * (energies.ndim - 1))
        logits = -(energies + volumes) / (2.0 * self.bandwidth)
        others = np.delete(logits, rule, axis=0)
        top = others.max(axis=0)
        return logits[rule] - top - np.log(np.exp(others - top).sum(axis=0))


class Exchange:
    """Expected distances of the rows of a rule to all rules, with some blocks exchanged.

    Exchanged blocks have mean and covariance of all rows and know nothing of the other columns;
    the rest has those of the rule. All sums are kept per pair of blocks.
    """

    def __init__(self, land: Landscape, rule: int, blocks: Sequence[Sequence[int]]) -> None:
        P, own = land.precisions, land.covariances[rule]
        gaps, move = land.centers[rule] - land.centers, land.mean - land.centers[rule]
        self.own = sum_blocks(P * own, blocks)
        self.all = sum_blocks(P * land.covariance, blocks)
        self.square = sum_blocks(P * np.outer(move, move), blocks)
        pull = np.einsum("oij,oj->oi", P, gaps)
        self.slope = np.stack([(pull * move)[:, list(block)].sum(axis=1) for block in blocks], 1)
        self.start = self.own.sum(axis=(1, 2)) + np.einsum("oi,oi->o", pull, gaps)

    def after(self, chosen: list[int]) -> Floats:
        """Return the distances (rules, blocks) with each block exchanged beside the chosen ones."""
        energy, done = self.start[:, None], list[int]()
        for block in chosen:
            energy = energy + self._step(done)[:, [block]]
            done.append(block)
        return energy + self._step(done)

    def _step(self, done: list[int]) -> Floats:
        """Return what exchanging one more block adds (rules, blocks)."""
        own, every, square = (
            np.diagonal(part, axis1=1, axis2=2) for part in (self.own, self.all, self.square)
        )
        lost = self.own.sum(axis=2) - self.own[:, :, done].sum(axis=2) - own
        joint = self.all[:, :, done].sum(axis=2) + self.square[:, :, done].sum(axis=2)
        return every - own + square + 2.0 * (joint - lost + self.slope)


def sum_blocks(values: Floats, blocks: Sequence[Sequence[int]]) -> Floats:
    """Return the sums of matrices (rules, p, p) over pairs of blocks of columns."""
    if all(len(block) == 1 for block in blocks):
        order = [block[0] for block in blocks]
        return values[:, order][:, :, order]
    member = np.zeros((len(blocks), values.shape[1]))
    for i, block in enumerate(blocks):
        member[i, list(block)] = 1.0
    return member @ values @ member.T
