"""Planes of a rule by few features, as near to the whole ones as these features allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Floats

NOTHING = 1e-12  # of the variance; less is rounding
ENOUGH_KEPT = 0.98  # of the variance; further features would make the reading longer, not truer


@dataclass(frozen=True, eq=False)
class SparsePlanes:
    """Planes over few features: the best that can be said with them inside the rule.

    Attributes
    ----------
    blocks : tuple of int
        The things that are kept, the most telling one first.
    slopes : array of shape (K, p)
        Over scaled features, 0 but in the columns that are kept. The answer at the center is that
        of the whole planes.
    kept : float
        Share of the variance of all answers within the rule; 1 is all.
    """

    blocks: tuple[int, ...]
    slopes: Floats
    kept: float


def thin_out(
    slopes: Floats, covariance: Floats, blocks: Sequence[Sequence[int]], most: int
) -> SparsePlanes:
    """Return planes over at most ``most`` blocks of columns.

    Blocks are taken one by one, each the one that explains most of what is left of the answers
    ``slopes @ x``, for rows x of this covariance. What the blocks that are left out say along with
    those that are kept is part of their new slopes.
    """
    cross, left = slopes @ covariance, covariance.copy()
    total = float(np.einsum("kp,kp->", cross, slopes))
    thin, chosen, gained = np.zeros_like(slopes), list[int](), 0.0
    if total <= NOTHING:
        return SparsePlanes((), thin, 1.0)
    for _ in range(min(most, len(blocks))):
        gains = explained(cross, left, blocks)
        gains[chosen] = 0.0
        best = int(gains.argmax())
        if gains[best] <= NOTHING * total or gained >= ENOUGH_KEPT * total:
            break
        chosen.append(best)
        gained += float(gains[best])
        columns = list(blocks[best])
        inverse = np.linalg.pinv(left[np.ix_(columns, columns)], hermitian=True)
        cross = cross - cross[:, columns] @ inverse @ left[columns]
        left = left - left[:, columns] @ inverse @ left[columns]
    columns = [column for block in chosen for column in blocks[block]]
    inverse = np.linalg.pinv(covariance[np.ix_(columns, columns)], hermitian=True)
    thin[:, columns] = slopes @ covariance[:, columns] @ inverse
    return SparsePlanes(tuple(chosen), thin, min(gained / total, 1.0))


def explained(cross: Floats, left: Floats, blocks: Sequence[Sequence[int]]) -> Floats:
    """Return how much of the variance of all answers each block explains."""
    variances = np.diagonal(left)
    known = variances > NOTHING
    single = np.where(known, (cross**2).sum(axis=0) / np.where(known, variances, 1.0), 0.0)
    return np.array(
        [
            single[block[0]] if len(block) == 1 else explained_by(cross, left, list(block))
            for block in blocks
        ]
    )


def explained_by(cross: Floats, left: Floats, columns: list[int]) -> float:
    """Return how much of the variance of all answers some columns explain together."""
    inverse = np.linalg.pinv(left[np.ix_(columns, columns)], hermitian=True)
    return float(np.einsum("ki,ij,kj->", cross[:, columns], inverse, cross[:, columns]))
