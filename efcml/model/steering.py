"""What kernels are steered by: parameters as they are, and what follows from them and sizes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.model.params import CORRELATIONS, LEAST, Parameters
from efcml.support.bundles import bundle
from efcml.support.declared import facts_of

if TYPE_CHECKING:
    from efcml.model.params import Params
    from efcml.support.aliases import Pairs

IN_KERNELS = {name: facts for name, facts in facts_of(Parameters).items() if facts.kernels}

# alpha and beta are arrays, one entry for every pair of them that is carried along; `corrects`
# tells whether any is above zero.
Settings: Any = bundle(
    "Settings",
    [
        *IN_KERNELS,
        *("vigilance", "bandwidth", "density", "joint_bandwidth", "max_support", "alpha"),
        *("follows", "gaussians_follow", "forgetting", "beta", "splits", "split_share"),
        *("renewal", "corrects", "correlation", "exact_length", "prior_slope"),
    ],
    __name__,
)


def settings_of(
    params: Params,
    n_features: int,
    n_labels: int,
    prior_slope: float,
    split_share: float,
    pairs: Pairs | None = None,
    renewal: float = math.inf,
) -> Settings:
    """Return the numbers that the kernels need, with those that "auto" stands for.

    ``renewal`` is the number of rows at which shared planes are to be derived anew.
    ``pairs`` are the values of (alpha, beta) to carry along at once, if not the own ones.
    """
    alpha, beta = np.array(pairs or [(params.alpha, params.beta)], dtype=float).T.copy()
    as_they_are = {
        name: type(facts.default)(getattr(params, name)) for name, facts in IN_KERNELS.items()
    }
    return Settings(
        **as_they_are,
        # A single rule takes every row: whatever replaced it would know nothing yet.
        vigilance=np.inf if params.max_rules == 1 else float(params.vigilance),
        bandwidth=params.input_bandwidth(n_features),
        density=params.activation == "density",
        joint_bandwidth=params.merge_width(n_features, n_labels),
        max_support=params.max_support,
        follows=params.follows,
        # Without a floor, a feature that rests would lose its variance.
        gaussians_follow=params.follows and params.variance_floor >= LEAST,
        forgetting=params.fixed_forgetting,
        alpha=alpha,
        beta=beta,
        splits=params.splitting != "off",
        split_share=float(split_share),
        renewal=float(renewal),
        corrects=params.correlation != "none" and bool(alpha.any() or beta.any()),
        correlation=CORRELATIONS[params.correlation],
        exact_length=params.lipschitz == "exact",
        prior_slope=float(prior_slope),
    )
