"""Gaussians of the rules: activation, winner, birth test, movement, and which have to change.

``facts`` is one record per rule (efcml/model/tables.py). ``log_det`` are the logarithms of the
determinants of the covariances, in the joint space and in that of the features.
"""

import numpy as np

from efcml._jit import driver, kernel
from efcml.kernels.linalg import dot, multiply, shrink_twice, squared_distance

BIRTH_EXPONENT = 4.0  # m of the birth test
LEAST_TO_SPLIT = 40  # rows, half of them for each part
PROBATION = 100  # rows after its birth in which a rule may gather some of its own
SILENCE = 10.0  # rows that a rule of the least share would have won; with none it is silent
RETEST = 1.1  # a pair is tested for a merge again when it has a tenth more rows


@kernel
def activate(x, n_rules, center, marginal, facts, bandwidth, density, e, distances, psi):
    """Write ``Psi_i ~ exp(-(m_i^2 + log|S_i|) / (2 tau))``, in logarithms, and the distances."""
    for i in range(n_rules):
        distances[i] = squared_distance(x, center[i], marginal[i], e)
    normalise(distances, n_rules, facts, bandwidth, density, psi)


@kernel
def normalise(distances, n_rules, facts, bandwidth, density, psi):
    """Write Psi from the squared distances in the input space (eq. 4)."""
    least, total = np.inf, 0.0
    for i in range(n_rules):
        psi[i] = distances[i] + (facts[i].log_det_x if density else 0.0)
        least = min(least, psi[i])
    for i in range(n_rules):
        psi[i] = np.exp((least - psi[i]) / (2.0 * bandwidth))
        total += psi[i]
    for i in range(n_rules):
        psi[i] /= total


@kernel
def find_winner(z, distances, n_rules, center, joint, facts, whole, density, e):
    """Return the rule with the largest density at z (or x), and the squared distance to it.

    A rule is at least as far away in the joint space as it is in the input space.
    """
    winner, nearest, best = 0, np.inf, np.inf
    for i in range(n_rules):
        distance, size = distances[i], 0.0
        if density:
            size = facts[i].log_det if whole else facts[i].log_det_x
        if distance + size >= best:
            continue
        if whole:
            distance = squared_distance(z, center[i], joint[i], e)
        if distance + size < best:
            winner, nearest, best = i, distance, distance + size
    return winner, nearest


@driver
def is_novel(distance, dimension, support, vigilance):
    """Tell whether ``m > vigilance D^(1/sqrt 2) / (1 - 1/(k + 1))^4`` (the birth test).

    ``distance`` is squared, to the rule that wins the row, in a space of so many dimensions;
    ``support`` k is how many rows that rule has won. Another test takes these four numbers.
    """
    reach = vigilance * dimension ** (1.0 / np.sqrt(2.0))
    return np.sqrt(distance) > reach / (1.0 - 1.0 / (support + 1.0)) ** BIRTH_EXPONENT


@kernel
def absorb(precision, e, share, turn, amount, v, u):
    """Let an inverse covariance follow ``S <- (1 - a)(S + a e e')``, then a variance that grows.

    Sherman and Morrison, twice, in one go. Returns the change of log|S|.
    """
    n = precision.shape[0]
    multiply(precision, n, e, v)
    growth, scale = 1.0 + share * dot(e, v, n), 1.0 / (1.0 - share)
    a, b, grown = share / growth, 0.0, 1.0
    if amount > 0.0 and turn < n:  # u: column of the precision that the first change leaves
        for i in range(n):
            entry = precision[i, turn] if i >= turn else precision[turn, i]
            u[i] = scale * (entry - a * v[turn] * v[i])
        grown = 1.0 + amount * u[turn]
        b = amount / grown
    shrink_twice(precision, n, scale, a, v, b, u)
    return n * np.log(1.0 - share) + np.log(growth) + np.log(grown)


@kernel
def move(z, weight, most_support, s, center, joint, marginal, fact, spare):
    """Let a rule take in the joint row z, by ``a = w/(k + w)``, and hold the variance floor.

    One coordinate in turn gets back a little of its first variance, so that the covariance stays
    near ``cov + floor S_0``. ``spare`` are three rows of workspace.
    """
    q, e, v, u = z.shape[0], spare[0], spare[1], spare[2]
    grown = fact.support + weight
    share, support = weight / grown, min(grown, most_support)
    fact.updates += 1
    turn = fact.updates % q
    amount = weight * s.variance_floor * q * s.S_0[turn] / support
    for j in range(q):
        e[j] = z[j] - center[j]
        center[j] += share * e[j]
    fact.log_det += absorb(joint, e, share, turn, amount, v, u)
    fact.log_det_x += absorb(marginal, e, share, turn, amount, v, u)
    fact.support = support
    fact.prior_share *= support / grown


# What is due


@kernel
def is_silent(fact, now, least_share):
    """Tell whether a rule has won nothing for so long that rows no longer come where it is."""
    return least_share * (now - fact.last_won) > SILENCE


@kernel
def is_too_large(i, now, n_rules, facts, split_share, least_share, max_rules):
    """Tell whether a rule holds so large a share of the rows that it is to be split.

    Silent rules hold no share of the rows of now; at the cap one of them can make room.
    """
    own, total, room = facts[i].updates + 1, 0, n_rules < max_rules
    for r in range(n_rules):
        if is_silent(facts[r], now, least_share):
            room = True
        else:
            total += facts[r].updates + 1
    return room and own >= LEAST_TO_SPLIT and own > split_share * total


@kernel
def find_idle(now, n_rules, facts, least_share):
    """Return the first rule that has won too few of the rows since its birth, or -1.

    Silent rules are kept: they know of a place where rows may come again.
    """
    for r in range(n_rules):
        age = now - facts[r].born
        few = facts[r].updates + 1 < least_share * age
        if n_rules > 1 and age >= PROBATION and few and not is_silent(facts[r], now, least_share):
            return r
    return -1


@kernel
def find_pair(winner, n_rules, center, precision, facts, tested, most_gap, e):
    """Return the first rule whose merge with the winner is to be judged, or -1.

    Both must have some rows of their own, and a tenth more than at the last test. Centers that are
    farther apart than ``most_gap`` (squared) spare the test.
    """
    n = precision.shape[1]
    for r in range(n_rules):
        rows = facts[winner].updates + facts[r].updates + 2
        young = min(facts[winner].updates, facts[r].updates) + 1 < n
        if r == winner or young or rows < RETEST * tested[winner, r]:
            continue
        gap = min(
            squared_distance(center[r], center[winner], precision[winner], e),
            squared_distance(center[winner], center[r], precision[r], e),
        )
        if gap <= most_gap:
            return r
        tested[winner, r] = tested[r, winner] = rows
    return -1
