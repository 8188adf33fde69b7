"""Two memories of every rule: a long one, and a brief one that forgets.

A rule answers with a mixture of both planes. Its share of the brief one is the least-squares one over
the last rows: with ``e`` the error of the long memory and ``d`` how much smaller that of the brief
one is, ``m = sum e d / (sum d^2 + prior)``, within 0 and 1. The more the brief one is trusted, the
more the long one forgets.
"""

import numpy as np

from efcml._jit import kernel, kernel_part

GAIN, SPREAD, ERROR, WEIGHT = 0, 1, 2, 3  # entries of `trial`


@kernel_part
def brief_share(trial, settings):
    """Return m, how much the brief memory is trusted."""
    if trial[WEIGHT] <= 0.0:
        return 0.0
    held = trial[SPREAD] + settings.hold * trial[ERROR] / trial[WEIGHT]
    if held <= 0.0:
        return 0.0
    return min(1.0, max(0.0, trial[GAIN] / held))


@kernel_part
def long_factor(trial, settings):
    """Return what a row leaves of the long memory."""
    return settings.brief ** (brief_share(trial, settings) ** settings.power)


@kernel_part
def most_support(trial, settings):
    """Return the cap of a rule's support."""
    factor = long_factor(trial, settings)
    if factor == 1.0:
        return np.inf
    return 1.0 / (1.0 - factor)


@kernel
def mix_answers(n_rules, model):
    """Write what each rule says at the row in view."""
    long, brief, answers = model.scratch.heights, model.brief_scratch.heights, model.scratch.answers
    for r in range(n_rules):
        m = brief_share(model.rules.trial[r], model.settings)
        for c in range(answers.shape[1]):
            answers[r, c] = long[r, c] + m * (brief[r, c] - long[r, c])


@kernel
def set_factors(n_rules, model):
    """Write what a row leaves each rule."""
    for r in range(n_rules):
        if model.settings.follows:
            model.scratch.factors[r] = long_factor(model.rules.trial[r], model.settings)
            model.brief_scratch.factors[r] = model.settings.brief
        else:
            model.scratch.factors[r] = model.settings.forgetting


@kernel
def compare_memories(y, n_rules, model):
    """Count how both memories did at the row in view."""
    scratch, brief = model.scratch, model.brief_scratch
    for r in range(n_rules):
        weight = scratch.activation[r]
        if weight < model.settings.activation_floor:
            continue
        gain = spread = error = 0.0
        for c in range(y.shape[0]):
            if scratch.known[c]:
                e = y[c] - scratch.heights[r, c]
                d = brief.heights[r, c] - scratch.heights[r, c]
                gain += e * d
                spread += d * d
                error += e * e
        trial, kept = model.rules.trial[r], model.settings.window**weight
        trial[GAIN] = kept * trial[GAIN] + weight * gain
        trial[SPREAD] = kept * trial[SPREAD] + weight * spread
        trial[ERROR] = kept * trial[ERROR] + weight * error
        trial[WEIGHT] = kept * trial[WEIGHT] + weight
