"""What is worth saying of a rule: what sets it apart, and what moves its labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from efcml.support.aliases import Bools, Floats
from efcml.support.guard import one_blas_thread

LEAST_GAIN = 0.05  # of what the first thing does; one that does less is not worth a term
LEAST_LOSS = 1e-6  # of the lead of a rule
SMALL_LEAD = 0.1  # of the mean lead; rows that lead by less count as if they led by this
NOTHING = 1e-12  # of the variance; less is rounding
ENOUGH_KEPT = 0.98  # of the variance; further features would make the reading longer, not truer


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

    @one_blas_thread()
    def choose(
        self, rule: int, blocks: Sequence[Sequence[int]], allowed: Bools, most: int
    ) -> tuple[list[int], float]:
        """Return the blocks of columns that decide most that a rule fires, the first one first.

        Take a row of the rule and give it, in some blocks, the values of a row of a rival. Which
        share of the rule's lead over this rival is lost? At most all of it. Blocks are added one by
        one, each the one that takes most beside those before it: so every rival has to be told
        apart, and what tells only those apart that are told apart already adds nothing. The share
        that is lost with all chosen blocks is returned, too.
        """
        pairs = [(column, i) for i, block in enumerate(blocks) for column in block]
        shape = (self.centers.shape[1], len(blocks))
        inside = csr_array((np.ones(len(pairs)), tuple(zip(*pairs, strict=True))), shape)
        rivals = [Exchange(self, rule, o, inside) for o in range(len(self.centers)) if o != rule]
        others = np.delete(self.shares, rule)
        # Half by their rows, half alike: a small rival counts enough that no two rules end with
        # the same condition.
        weights = 0.5 * others / (others.sum() or 1.0) + 0.5 / max(len(others), 1)
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
                rival.take(best, list(blocks[best]))
        return chosen, last


class Exchange:
    """The lead of a rule over a rival, at rows of the rule with some blocks of rows of the rival.

    The lead is the rival's squared distance and log volume minus the rule's. ``inside`` (p, blocks)
    is 1 where a column is in a block.
    """

    def __init__(self, land: Landscape, rule: int, rival: int, inside: csr_array) -> None:
        rows, partners = land.samples[rule], land.samples[rival]
        own, other = rows - land.centers[rule], rows - land.centers[rival]
        near, far = own @ land.precisions[rule], other @ land.precisions[rival]
        self.gap = np.resize(partners, rows.shape) - rows
        self.pull, self.curve = far - near, land.precisions[rival] - land.precisions[rule]
        self.inside = inside
        self.inner = (inside @ inside.T).multiply(self.curve).tocsr()  # within blocks
        self.lead = (far * other).sum(axis=1) - (near * own).sum(axis=1)
        self.lead += land.log_volumes[rival] - land.log_volumes[rule]
        self.left = self.lead

    def changes(self) -> Floats:
        """Return what exchanging each block would add to the lead (rows, blocks)."""
        return (self.gap * (2.0 * self.pull + self.gap @ self.inner)) @ self.inside

    def lost(self) -> Floats:
        """Return the share of the lead that is lost by each block beside those taken (blocks,)."""
        floor = SMALL_LEAD * max(float(self.lead.mean()), LEAST_LOSS)
        lost = self.lead[:, None] - self.left[:, None] - self.changes()
        return np.clip(lost / np.maximum(self.lead, floor)[:, None], 0.0, 1.0).mean(axis=0)

    def take(self, block: int, columns: list[int]) -> None:
        """Exchange a block for good."""
        self.left = self.left + self.changes()[:, block]
        self.pull += self.gap[:, columns] @ self.curve[columns]
        self.gap[:, columns] = 0.0


def thin_out(slopes: Floats, covariance: Floats, allowed: Bools, most: int) -> Floats:
    """Return planes over at most ``most`` features, the best that can be said with so few.

    Features are taken one by one, each the one that explains most of what is left of the answers
    ``slopes @ x``, for rows x of this covariance. What the features that are left out say along
    with those that are kept is part of their new slopes.
    """
    cross, left = slopes @ covariance, covariance.copy()
    total, gained = float((cross * slopes).sum()), 0.0
    thin, chosen = np.zeros_like(slopes), list[int]()
    while len(chosen) < min(most, len(left)) and gained < ENOUGH_KEPT * total:
        variances = np.diagonal(left)
        gains = (cross**2).sum(axis=0) / np.where(variances > NOTHING, variances, np.inf)
        gains[~allowed] = gains[chosen] = 0.0
        best = int(gains.argmax())
        if gains[best] <= NOTHING * total:
            break
        chosen.append(best)
        gained += float(gains[best])
        step = left[best] / left[best, best]
        cross, left = cross - np.outer(cross[:, best], step), left - np.outer(left[best], step)
    inverse = np.linalg.pinv(covariance[np.ix_(chosen, chosen)], hermitian=True)
    thin[:, chosen] = slopes @ covariance[:, chosen] @ inverse
    return thin
