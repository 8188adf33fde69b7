"""How much each rule has to say about some rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from efcml.support.aliases import Floats


def activate_scaled(learner: Any, scaled: Floats) -> Floats:
    """Return the activation of every rule (n, rules) at scaled rows, as scores blend with it.

    Rules are in the order of the learner's arrays.
    """
    from efcml.model.batch import activations  # not above: it loads numba

    return activations(learner.rules, scaled, learner.settings.replace(activation_floor=0.0))


def rows_as_taken(learner: Any, scaled: Floats) -> tuple[list[Floats], Floats]:
    """Return scaled rows as each rule takes them to be, and as all rules together do.

    They differ where features are missing (NaN) alone. Rules are in the order of the arrays.
    """
    from efcml.model.filling import rows_for, rows_for_all  # not above: it loads numba

    own = [rows_for(learner.rules, r, scaled) for r in range(learner.n_rules)]
    return own, rows_for_all(learner.rules, scaled, learner.settings)


def count_effective(activations: Floats) -> Floats:
    """Return how many rules share each answer: exp of the entropy of the activations (n,).

    Examples
    --------
    >>> count_effective(np.array([[1.0, 0.0], [0.5, 0.5]])).round(6).tolist()
    [1.0, 2.0]
    """
    logs = np.log(np.where(activations > 0.0, activations, 1.0))
    return np.exp(-(activations * logs).sum(axis=1))


def remembered_rows(learner: Any) -> Floats:
    """Return the rows that a learner remembers as cases (m, p), in the units of the data.

    Far values are nearer there than they were (kernels/cases.py). In the warm-up there are none.
    """
    if not learner.fitted:
        return np.empty((0, learner.n_features))
    scaled = learner.cases.arrays.rows[: learner.cases.n_cases]
    return learner.scaler.mean + learner.scaler.scale * scaled
