"""Two memories of every rule, and how much the shorter one is trusted (how_it_works.md 8).

With ``forgetting="auto"`` a rule has two sets of planes: a long memory, and a brief one that
forgets quickly. It answers with a mixture of both. With ``e`` the error of the first and ``d`` how
much the second differs from it, the share of the brief one is that of least squares over the last
rows,

    m = sum e d / (sum d^2 + held mean(e^2)),    within 0 and 1,

and 0 as long as nothing speaks for it. The more it is trusted, the more the long one forgets, and
the antecedent with it. The recent cases, which correct what rules and cases get wrong at the last
few rows, are trusted by the same rule.

A ``trial`` holds the four sums of it.
"""

import numpy as np

from efcml._jit import kernel, kernel_part

GAIN, SPREAD, ERROR, WEIGHT = 0, 1, 2, 3  # entries of a trial
BRIEF = 0.97  # what is left of the brief memory after a row that the rule learns alone
WINDOW = 0.98  # likewise, of the trial of a rule
HELD = 5.0  # squared errors of a row that speak against the brief memory
POWER = 2.0  # of m, in how much the long memory forgets
RECENT, RECENT_WINDOW, RECENT_HELD = 0.9, 0.99, 1.0  # the same of the recent cases
DRIFTS, CALM = 0.5, 0.25  # m from which on a rule drifts, and below which it has ended
STEADY, DRIFTING, NEWS = 0, 1, 2  # values of `drifting`; news are to be told
QUIET = 3  # likewise: it was split, and waits until it is calm
SPLIT = QUIET + 200  # counted down: rows in which halves part, which is no drift of the stream


@kernel_part
def least_squares_share(trial, held):
    """Return m of a trial."""
    if trial[WEIGHT] <= 0.0:
        return 0.0
    against = trial[SPREAD] + held * trial[ERROR] / trial[WEIGHT]
    if against <= 0.0:
        return 0.0
    return min(1.0, max(0.0, trial[GAIN] / against))


@kernel_part
def brief_share(trial):
    """Return how much the brief memory of a rule is trusted."""
    return least_squares_share(trial, HELD)


@kernel_part
def recent_share(trial):
    """Return how much the recent cases are trusted."""
    return least_squares_share(trial, RECENT_HELD)


@kernel_part
def long_factor(trial):
    """Return what is left of the long memory after a row that the rule learns alone."""
    return BRIEF ** (brief_share(trial) ** POWER)


@kernel_part
def most_support(trial):
    """Return the cap of a rule's support that this implies."""
    factor = long_factor(trial)
    return np.inf if factor == 1.0 else 1.0 / (1.0 - factor)


@kernel
def mix_answers(n_rules, trials, long, brief, answers):
    """Write what each rule says at the row in view, from the heights of both memories."""
    for r in range(n_rules):
        m = brief_share(trials[r])
        for c in range(answers.shape[1]):
            answers[r, c] = long[r, c] + m * (brief[r, c] - long[r, c])


@kernel
def set_factors(n_rules, model):
    """Write how much each rule is going to forget."""
    settings = model.settings
    for r in range(n_rules):
        if settings.follows:
            model.scratch.factors[r] = long_factor(model.rules.trial[r])
            model.brief_scratch.factors[r] = BRIEF
        else:
            model.scratch.factors[r] = settings.forgetting


@kernel
def measure_forgetting(n_rules, scratch):
    """Return what the row leaves of a rule on average, and so of the cases."""
    total = 0.0
    for r in range(n_rules):
        if scratch.factors[r] < 1.0:
            total += scratch.activation[r] * np.log(scratch.factors[r])
    return np.exp(total / n_rules)


@kernel
def count_trial(errors, differences, known, weight, kept, trial):
    """Add a row to a trial: the errors so far, and what would be taken off them."""
    gain = spread = error = 0.0
    for c in range(known.shape[0]):
        if known[c]:
            gain += errors[c] * differences[c]
            spread += differences[c] * differences[c]
            error += errors[c] * errors[c]
    trial[GAIN] = kept * trial[GAIN] + weight * gain
    trial[SPREAD] = kept * trial[SPREAD] + weight * spread
    trial[ERROR] = kept * trial[ERROR] + weight * error
    trial[WEIGHT] = kept * trial[WEIGHT] + weight


@kernel
def note_drift(rule, rules):
    """Mark a rule whose brief memory has come to be trusted, until it no longer is.

    A rule that was split learns to differ from its other half, first in the brief memory; it is
    quiet for a while, and until it is calm.
    """
    m = brief_share(rules.trial[rule])
    if rules.drifting[rule] > QUIET:
        rules.drifting[rule] -= 1
    elif rules.drifting[rule] == STEADY and m > DRIFTS:
        rules.drifting[rule] = NEWS
    elif rules.drifting[rule] != STEADY and m < CALM:
        rules.drifting[rule] = STEADY


@kernel
def compare_memories(y, newborn, n_rules, model):
    """Count how both memories did at the row in view, for every rule that is going to learn it.

    Several planes of a label, for pairs (alpha, beta), go by the first.
    """
    rules, long, brief = model.rules, model.scratch, model.brief_scratch
    errors, differences = brief.old, brief.expected
    for r in range(n_rules):
        if r == newborn or long.activation[r] < model.settings.activation_floor:
            continue
        weight = long.amount[0] * long.activation[r]
        for c in range(y.shape[0]):
            errors[c] = y[c] - long.heights[r, c]
            differences[c] = brief.heights[r, c] - long.heights[r, c]
        count_trial(errors, differences, long.known, weight, WINDOW**weight, rules.trial[r])
        note_drift(r, rules)
