"""Scores and activations of whole blocks of rows; the state is only read."""

from efcml._jit import kernel, kernel_fast, kernel_rare
from efcml.kernels.cases import compare_with_cases, recall
from efcml.kernels.constants import AHEAD
from efcml.kernels.firing import activate_rules, look_ahead
from efcml.kernels.gaps import has_gaps
from efcml.kernels.memory import mix_answers, recent_share
from efcml.kernels.sequel import answer_sequel, is_on


@kernel
def blend(activation, heights, n_rules, scores):
    """Write ``sum_i Psi_i r W_i`` from the heights of all planes at a row."""
    for c in range(scores.shape[0]):
        scores[c] = 0.0
    for r in range(n_rules):
        share = activation[r]
        if share > 0.0:
            for c in range(scores.shape[0]):
                scores[c] += share * heights[r, c]


@kernel_fast
def measure_heights(row, W, n_rules, heights):
    """Write the height of every plane of every rule at the extended row ``r = [x, 1]``."""
    for r in range(n_rules):
        for c in range(W.shape[1]):
            height = 0.0
            for i in range(row.shape[0]):
                height += row[i] * W[r, c, i]
            heights[r, c] = height


@kernel
def copy_answers(n_rules, scratch):
    """Let each rule say what its planes do: it has no other memory."""
    for r in range(n_rules):
        for c in range(scratch.answers.shape[1]):
            scratch.answers[r, c] = scratch.heights[r, c]


@kernel
def say_answers(n_rules, model):
    """Write what each rule says at the row in view, from the heights."""
    scratch = model.scratch
    if model.settings.follows:
        heights, trials = model.brief_scratch.heights, model.rules.trial
        mix_answers(n_rules, trials, scratch.heights, heights, scratch.answers)
    else:
        copy_answers(n_rules, scratch)


@kernel_rare()
def measure_gapped_heights(n_rules, model):
    """Write the heights of all planes, those of each rule at its own row (kernels/gaps.py)."""
    scratch, brief = model.scratch, model.brief_scratch
    for r in range(n_rules):
        own = scratch.own[r]
        measure_heights(own, model.rules.W[r : r + 1], 1, scratch.heights[r : r + 1])
        if model.settings.follows:
            for i in range(own.shape[0]):
                brief.own[r, i] = own[i]
            measure_heights(own, model.brief.W[r : r + 1], 1, brief.heights[r : r + 1])
    brief.gaps[0] = scratch.gaps[0]


@kernel
def view_row(x, distances, n_rules, model):
    """Write what scoring and learning a row both need: distances, r = [x, 1], heights, answers."""
    rules, settings, scratch = model.rules, model.settings, model.scratch
    model.brief_scratch.gaps[0] = 0
    if has_gaps(x, distances, n_rules, rules, settings, scratch):
        measure_gapped_heights(n_rules, model)
        say_answers(n_rules, model)
        return
    for r in range(n_rules):
        scratch.distances[r] = distances[r]
    p, row = x.shape[0], scratch.row
    for j in range(p):
        row[j] = x[j]
    row[p] = 1.0
    measure_heights(row, model.rules.W, n_rules, scratch.heights)
    if model.settings.follows:
        brief = model.brief_scratch
        for j in range(p + 1):
            brief.row[j] = row[j]
        measure_heights(row, model.brief.W, n_rules, brief.heights)
    say_answers(n_rules, model)


@kernel
def add_up(x, n_rules, model, scores):
    """Write what rules and all cases say of the row in view (how_it_works.md 2)."""
    scratch = model.scratch
    seen = scratch.filled if scratch.gaps[0] > 0 else x
    activate_rules(scratch.distances, n_rules, model.rules, model.settings, scratch.activation)
    blend(scratch.activation, scratch.answers, n_rules, scores)
    recall(seen, model.cases, scores)
    if model.recent.rows.shape[0] > 0:
        compare_with_cases(seen, model.recent)
        share = recent_share(model.recent_trial)
        for c in range(scores.shape[0]):
            scores[c] += share * model.recent.expected[c]


@kernel
def answer_row(x, ahead, n_rules, model, scores):
    """Write the outputs of the row in view, ``ahead`` rows after the next (how_it_works.md 9)."""
    add_up(x, n_rules, model, scores)
    if is_on(model.sequel):
        answer_sequel(ahead, model.sequel, scores)


@kernel
def score_rows(X, later, n_rules, model, scores):
    """Write the continuous outputs of every row of X; the first is ``later`` rows after the next.

    The others follow, so less and less is known of the rows before them.
    """
    rules, scratch, n = model.rules, model.scratch, X.shape[0]
    center, precision, ahead = rules.center, rules.input_precision, scratch.ahead
    for first in range(0, n, AHEAD):
        last = min(first + AHEAD, n)
        look_ahead(X, first, last, center, precision, n_rules, scratch.e, ahead)
        for t in range(first, last):
            view_row(X[t], ahead[t - first], n_rules, model)
            answer_row(X[t], later + t, n_rules, model, scores[t])


@kernel
def score_row(X, t, ahead, n_rules, model, scores):
    """Write the continuous outputs of row t, ``ahead`` rows after the next.

    The distances that were looked up for other rows stay.
    """
    rules, scratch = model.rules, model.scratch
    distances = scratch.alone
    look_ahead(X, t, t + 1, rules.center, rules.input_precision, n_rules, scratch.e, distances)
    view_row(X[t], distances[0], n_rules, model)
    answer_row(X[t], ahead, n_rules, model, scores)


@kernel
def activate_rows(X, n_rules, rules, settings, scratch, activations):
    """Write the normalised activation of every rule for every row of X."""
    center, precision, distances = rules.center, rules.input_precision, scratch.alone
    for t in range(X.shape[0]):
        look_ahead(X, t, t + 1, center, precision, n_rules, scratch.e, distances)
        if has_gaps(X[t], distances[0], n_rules, rules, settings, scratch):
            activate_rules(scratch.distances, n_rules, rules, settings, activations[t])
        else:
            activate_rules(distances[0], n_rules, rules, settings, activations[t])
