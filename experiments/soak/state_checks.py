"""What may be wrong with the state of a learner, as numbers.

Everything is derived anew from what it should be made of, for both memories of the rules and for
both kinds of cases.
"""

import numpy as np

from efcml.model.memories import SHARED_FIELDS
from efcml.model.units import similarities


def look_at(learner):
    """Return how far the state is from what it should be."""
    seen = {"memories_agree": agree(learner.memories)}  # first: saving makes them agree
    seen["finite"] = all(bool(np.isfinite(array).all()) for array in learner.state()[1].values())
    for rules in learner.memories:
        join(seen, look_at_planes(rules), look_at_gaussians(rules))
    for cases in (learner.cases, learner.recent):
        if cases.n_cases:
            join(seen, look_at_cases(cases))
    return seen


def join(seen, *parts):
    """Keep the worst of every figure: the least eigenvalue, the largest error."""
    for part in parts:
        for name, value in part.items():
            worst = min if "least" in name else max
            seen[name] = worst(seen.get(name, value), value)


def look_at_planes(rules):
    """Return how far P is from the inverse of G + Delta, and D from the gradient at W."""
    off, least, gradient_off = 0.0, np.inf, 0.0
    inverses, hessians = rules.P, rules.G
    for r in range(rules.n_rules):
        for group in range(rules.n_groups):
            P, Delta = inverses[r, group], rules.Delta[r, group]
            H = hessians[r, group] + np.diag(Delta)
            off = max(off, float(np.abs(P @ H - np.eye(len(P))).max()))
            least = min(least, float(np.linalg.eigvalsh(P)[0]))
            labels = rules.labels_of(group)
            bent = rules.W[r, labels] @ H
            target = rules.B[r, labels] + Delta * rules.W_prior[r, labels]
            size = 1.0 + np.abs(bent).max() + np.abs(target).max()
            apart = float(np.abs(bent - target - rules.D[r, labels]).max() / size)
            gradient_off = max(gradient_off, apart)
    return {"inverse_off": off, "least_eigenvalue": least, "gradient_off": gradient_off}


def look_at_gaussians(rules):
    """Return how far marginal precision and log-determinants are from the joint precision."""
    off, least, p = 0.0, np.inf, rules.n_features
    precisions = zip(rules.joint_precision, rules.input_precision, strict=True)
    for r, (joint, marginal) in enumerate(precisions):
        least = min(least, *(float(np.linalg.eigvalsh(one)[0]) for one in (joint, marginal)))
        S = np.linalg.inv(joint)
        off = max(off, float(np.abs(marginal @ S[:p, :p] - np.eye(p)).max()))
        for value, precision in zip(rules.log_det[r], (joint, marginal), strict=True):
            off = max(off, abs(float(value + np.linalg.slogdet(precision)[1])))
    return {"gaussians_off": off, "gaussians_least": least}


def agree(memories):
    """Tell whether all memories are of the same rules with the same Gaussians."""
    first = memories[0]
    return all(
        np.array_equal(getattr(first, name), getattr(other, name))
        for other in memories[1:]
        for name in ("uid", "born", *SHARED_FIELDS)
    )


def look_at_cases(cases):
    """Return how far similarities are from the rows and from their inverse; least variance."""
    state, identity = cases.state(), np.eye(cases.n_cases)
    kernel_off = np.abs(similarities(state["rows"], cases.arrays.width) - state["kernel"]).max()
    inverse_off = np.abs(state["inverse"] @ state["kernel"] - identity).max()
    return {
        "cases_off": float(max(kernel_off, inverse_off)),
        "cases_least": float(np.linalg.eigvalsh(state["covariance"])[0]),
    }
