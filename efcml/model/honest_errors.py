"""What the whole model gets wrong at rows of its batch, had it not learned them.

Three things have learned a row: the planes that all rules share, the planes of every rule, and the
cases. Each keeps a share of the error that it would make without the row, and the shares are known
(how_it_works.md 10). These errors are like those of the stream, which are made before a row is
learned; what errors teach begins with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.model import batch
from efcml.model.definite import whole as both_triangles
from efcml.model.filling import rows_for_all
from efcml.model.prior import precision

if TYPE_CHECKING:
    from efcml.model.casebase import CaseBase
    from efcml.model.rulebase import RuleBase
    from efcml.support.aliases import Floats

MOST_ROWS = 4000  # of a batch, the newest: they tell how errors are


class HeldErrors:
    """What a row of the batch has done to the planes that all rules are held to.

    With ``P_0`` the inverse of ``R'R + Delta_0``, the shared planes would be wrong by
    ``e_0 = (y - r W_0) / (1 - r'P_0 r)`` at a row r that they had not learned. If rows have
    weights w, it is ``R'w R`` and ``w P_0 r``.
    """

    def __init__(
        self,
        rules: RuleBase,
        shared: float,
        X: Floats,
        Y: Floats,
        most: int,
        amounts: Floats | None = None,
    ) -> None:
        R, known = batch.extended(X), ~np.isnan(Y)
        Delta = np.diag(precision(shared, X.shape[1]))
        planes = rules.arrays.W_prior[0, : rules.n_labels]
        self.rows = R[-most:]
        left = np.where(known, Y, 0.0)[-most:] - self.rows @ planes.T
        self.errors, self.moves = np.empty_like(left), []
        for group in range(rules.n_groups):
            labels = rules.labels_of(group)
            rows = slice(None) if rules.n_groups == 1 else known[:, group]
            seen = R[rows]
            weighed = seen if amounts is None else amounts[rows, None] * seen
            moved = np.linalg.solve(weighed.T @ seen + Delta, self.rows.T).T  # P_0 r
            if amounts is not None:
                moved *= amounts[-most:, None]
            kept = np.maximum(1.0 - (self.rows * moved).sum(axis=1), batch.LEAST_KEPT)
            self.errors[:, labels] = left[:, labels] / kept[:, None]
            self.moves.append(moved)

    def pull(self, rules: RuleBase, r: int) -> Floats:
        """Return by how much more rule r would err, were it held to planes without the row.

        ``r'P Delta P_0 r e_0``, as if there were no penalty beta.
        """
        found = np.empty_like(self.errors)
        for group, (P, moved) in enumerate(
            zip(both_triangles(rules.arrays.P[r]), self.moves, strict=True)
        ):
            labels = rules.labels_of(group)
            share = (self.rows @ P * rules.arrays.Delta[r, group] * moved).sum(axis=1)
            found[:, labels] = share[:, None] * self.errors[:, labels]
        return found


def honest_errors(
    rules: RuleBase,
    cases: CaseBase,
    shared: float | None,
    X: Floats,
    Y: Floats,
    settings: Any,
    amounts: Floats | None = None,
) -> Floats:
    """Return the errors (n, K) at the newest rows of a batch, each without the own row.

    NaN where a label is unknown. Rows are scaled, ``shared`` is the strength that holds shared
    planes. Of several pairs (alpha, beta) the errors are those of the first.
    """
    whole = rows_for_all(rules, X, settings)
    held = None if shared is None else HeldErrors(rules, shared, whole, Y, MOST_ROWS, amounts)
    own = 1.0 if amounts is None else amounts[-MOST_ROWS:]
    X, Y, whole = X[-MOST_ROWS:], Y[-MOST_ROWS:], whole[-MOST_ROWS:]
    first = slice(0, rules.n_labels)
    found = batch.errors_without_own_row(rules, X, Y, settings, held, own)[:, first]
    if cases.n_cases == 0:
        return found
    filled = batch.errors_without_own_row(rules, X, Y, settings, None, own)[:, first]
    return found - filled + cases.errors_without_own_row(whole, filled, own)
