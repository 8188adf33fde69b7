"""Which rule wins a joint row [x, y], and how it takes it in (how_it_works.md 3)."""

from efcml._jit import kernel
from efcml.kernels.antecedent import is_novel, update_winner
from efcml.kernels.firing import INPUT, find_likeliest, find_winner
from efcml.kernels.gaps import choose_gapped_winner, update_gapped_winner


@kernel
def complete_joint_row(x, y, known, expected, z):
    """Fill ``z`` with [x, y]; an unknown label is what is expected of it."""
    p = x.shape[0]
    for j in range(p):
        z[j] = x[j]
    for c in range(y.shape[0]):
        z[p + c] = y[c] if known[c] else expected[c]


@kernel
def choose_winner(distances, all_known, n_rules, rules, settings, scratch):
    """Return the rule that wins the joint row, and whether the row is novel to it.

    Joint space when all labels are known, else input space, where the distance is the smallest
    one that any labels could give. ``distances`` are those in the input space.
    """
    if scratch.gaps[0] > 0:
        return choose_gapped_winner(all_known, n_rules, rules, settings, scratch)
    if settings.product_space and all_known:
        winner, distance = find_winner(scratch.z, distances, n_rules, rules, settings, scratch.e)
        dimension = float(scratch.z.shape[0])
    else:
        winner = find_likeliest(distances, INPUT, n_rules, rules, settings)
        distance = distances[winner]
        dimension = float(rules.input_precision.shape[1])
    return winner, is_novel(distance, dimension, rules.support[winner], settings.vigilance)


@kernel
def move_winner(winner, model):
    """Let the winner take in the joint row, of which features may be missing."""
    rules, settings, scratch = model.rules, model.settings, model.scratch
    if scratch.gaps[0] > 0:
        update_gapped_winner(winner, model.start_variance, rules, settings, scratch)
    else:
        update_winner(winner, model.start_variance, rules, settings, scratch)
