"""What happens to rules between rows: birth, split, merge, removal, upkeep (Python, O(q^3)).

Every function works on the arrays of `tables.Rules`; ``i`` and ``j`` are rules.
"""

from functools import cached_property
from typing import Any

import numpy as np

from efcml.kernels.linalg import add_diagonal, factor, invert, invert_factor, log_det, solve, whole
from efcml.kernels.planes import PARTING, SLOW
from efcml.kernels.rows import LEARNED, RENEWAL
from efcml.model.tables import RULES, Rules

LABEL_SPREAD = 0.5  # deviation of an even 0/1 label; its range is 1
BETWEEN = 2.0 / np.pi  # share of the variance of a Gaussian that lies between its halves
LEAST_COVARIANCE = 1e-12  # below, features and labels do not vary together
NO_VARIANCE = 1e-12  # a label with less is constant in the rule
SHARE_GROWTH = 0.03  # of the number of rows, after which planes are shared anew
SPARED = 8  # rows for as many features, at least, since it costs the cube of these
INTERCEPT_SHARE = 0.01  # the prior of the intercept is weak
ROUNDING = 1e-12  # of the largest entry of G: a prior below that may be lost beside it
NEVER = 2**52  # rows
SUMS = ("weight", "use", "unstepped")  # what rules that merge add up, and halves share
BY_RULE = [c.name for c in RULES.columns if c.dims[0] == "R" and c.name != "tested"]


def allocate(p, a, K, R, memories, *, joint=True, correlates=True):
    """Return the arrays of no rule, with room for R; they are formed over a of p features.

    Without joint space, rules have no covariance of labels; without correlation, no label sums.
    """
    sizes = {"p": p, "a": a, "K": K, "d": p + 1, "q": a + K, "R": R, "M": memories}
    rules = Rules(**RULES.allocate(sizes | {"j": joint * (a + K), "L": correlates * K}))
    rules.clock[RENEWAL] = NEVER
    return rules


def precision(strength, p):
    """Return the diagonal of Delta."""
    return np.append(np.full(p, float(strength)), INTERCEPT_SHARE * strength)


def start_variances(X, K, width):
    """Return S_0 = width * range * deviation of every joint coordinate; constants count as 1."""
    spread = np.ptp(X, axis=0) * X.std(axis=0)
    return width * np.append(np.where(spread > 1e-6, spread, 1.0), np.full(K, LABEL_SPREAD))


# Gaussians


def covariance_of(rules, i):
    """Return the covariance of a rule, joint if there is one."""
    return invert(rules.joint[i] if rules.joint.shape[1] else rules.marginal[i])


def set_gaussian(rules, i, covariance):
    """Give a rule its covariance: both precisions and log-determinants."""
    p, upper = rules.marginal.shape[1], factor(covariance)
    rules.marginal[i] = invert_factor(upper[:p, :p])
    rules.facts["log_det_x"][i] = log_det(upper[:p, :p])
    if rules.joint.shape[1]:
        rules.joint[i], rules.facts["log_det"][i] = invert_factor(upper), log_det(upper)


def init_rule(rules, i, z, W, weight, S_0, Delta):
    """Make rule i, centered on the joint row z, with the planes W (memories, K, d) as its prior.

    A row of more weight than 1 counts for more, S_0 with it; not for less: the support tells how
    sure a rule is of its place.
    """
    for name in BY_RULE:
        getattr(rules, name)[i] = np.zeros(1, getattr(rules, name).dtype)[0]
    p, facts = rules.marginal.shape[1], rules.facts
    rules.center[i] = z
    rules.marginal[i], facts["log_det_x"][i] = np.diag(1.0 / S_0[:p]), np.log(S_0[:p]).sum()
    if rules.joint.shape[1]:
        rules.joint[i], facts["log_det"][i] = np.diag(1.0 / S_0), np.log(S_0).sum()
    facts["support"][i] = facts["prior_share"][i] = max(1.0, weight)
    rules.P[i], rules.Delta[i] = np.diag(1.0 / Delta), Delta
    rules.W[i] = rules.W_0[i] = W
    facts["born"][i] = facts["last_won"][i] = rules.clock[LEARNED]
    note_tested(rules, i, i + 1)


def note_tested(rules, i, n_rules):
    """Let a rule count as just tested for a merge with all others: it has no rows of its own."""
    rows = rules.facts["updates"][:n_rules] + rules.facts["updates"][i] + 2
    rules.tested[i, :n_rules] = rules.tested[:n_rules, i] = rows


def remove(rules, i, n_rules):
    """Take a rule out; the last one takes its place."""
    last = n_rules - 1
    for name in BY_RULE:
        getattr(rules, name)[i] = getattr(rules, name)[last]
    rules.tested[i, :n_rules] = rules.tested[last, :n_rules]
    rules.tested[:n_rules, i] = rules.tested[:n_rules, last]


# Merge


class Pair:
    """Two rules that may be merged, for a merging criterion to look at.

    ``rules`` is the whole table of arrays; ``overlap`` is ``exp(-D_B / tau_q)``, D_B the
    Bhattacharyya distance; ``growth`` is ``1/2 log|S| - log(V_1 + V_2)`` of their union, which has
    ``center`` and ``covariance``. What costs is made when it is asked for, before they are merged.
    If they are so far apart that rounding leaves nothing of their union, its growth is infinite.
    """

    def __init__(self, rules: Any, i: int, j: int, S_0: Any, product_space: bool, width: float):
        self.i, self.j, self.rules, self.S_0, self.width = i, j, rules, S_0, width
        self.precision = rules.joint if product_space else rules.marginal
        logs = rules.facts["log_det" if product_space else "log_det_x"]
        self.half_logs, self.support = 0.5 * logs[[i, j]], rules.facts["support"][[i, j]]
        self.center = self.support @ rules.center[[i, j]] / self.support.sum()

    @cached_property
    def overlap(self) -> float:
        """Return it by the precisions, ``(S_1 + S_2)^-1 = P_1 (P_1 + P_2)^-1 P_2``."""
        P_i, P_j = (whole(self.precision[rule].copy()) for rule in (self.i, self.j))
        D, both = len(P_i), factor(P_i + P_j)
        e = (self.rules.center[self.i] - self.rules.center[self.j])[:D]
        size = self.half_logs.sum() + log_det(both) - D * np.log(2.0)
        distance = 0.25 * (P_i @ e) @ solve(both, P_j @ e) + 0.5 * size
        return float(np.exp(-max(distance, 0.0) / self.width))

    @cached_property
    def covariance(self) -> Any:
        """Return that of the union; S_0, which both hold, counts once."""
        (k_i, k_j), n = self.support, self.support.sum()
        S_i, S_j = covariance_of(self.rules, self.i), covariance_of(self.rules, self.j)
        e = (self.rules.center[self.i] - self.rules.center[self.j])[: len(S_i)]
        pooled = k_i * S_i + k_j * S_j + k_i * k_j / n * np.outer(e, e)
        once = self.rules.facts["prior_share"][[self.i, self.j]].min()
        return add_diagonal(pooled, -once * self.S_0[: len(e)]) / n

    @cached_property
    def growth(self) -> float:
        """Return the growth in volume."""
        D = self.precision.shape[1]
        try:
            half = 0.5 * log_det(factor(self.covariance)[:D, :D])
        except np.linalg.LinAlgError:
            return np.inf
        return float(half - np.logaddexp(*self.half_logs))


def by_overlap(pair, least_overlap, most_growth):
    """Judge a pair, the usual merging criterion: overlap by its least.

    It is below 1 where the union is too large.
    """
    alike = pair.overlap / least_overlap
    return alike if alike < 1.0 or pair.growth <= most_growth else np.nextafter(1.0, 0.0)


def merge(rules, pair, n_rules, most_support):
    """Replace two rules by what one would hold that had seen the rows of both; return its place.

    Its planes, an average until then, are left to the caller.
    """
    i, j = sorted((pair.i, pair.j))
    facts, both = rules.facts, [i, j]
    weights = facts["weight"][both] if facts["weight"][both].any() else facts["support"][both]
    share, n = weights / weights.sum(), facts["support"][both].sum()
    set_gaussian(rules, i, pair.covariance)
    rules.center[i] = pair.center
    facts["uid"][i] = facts["uid"][i if facts["support"][i] >= facts["support"][j] else j]
    most_prior = facts["prior_share"][both].max()
    facts["support"][i] = min(n, most_support)
    facts["prior_share"][i] = most_prior * facts["support"][i] / n
    facts["updates"][i] += facts["updates"][j] + 1
    facts["born"][i] = facts["born"][both].min()
    for name in ("last_won", "drifting", "stopped"):
        facts[name][i] = facts[name][both].max()
    facts_too = (facts[name] for name in SUMS)
    for sums in (rules.trust_sums, rules.label_sums, rules.seen, rules.G, rules.B, *facts_too):
        sums[i] += sums[j]
    rules.Delta[i] = np.maximum(rules.Delta[i], rules.Delta[j])
    for planes in (rules.W, rules.W_0):
        planes[i] = share[0] * planes[i] + share[1] * planes[j]
    rules.tested[i] = rules.tested[:, i] = np.maximum(rules.tested[i], rules.tested[j])
    remove(rules, j, n_rules)
    return i


def printed_planes(rules, pair, overlap):
    """Return the paper's average of two consequents, ``W_1 + a rho (W_2 - W_1)``."""
    i, j = sorted((pair.i, pair.j))
    support = rules.facts["support"]
    strong, weak = (i, j) if support[i] >= support[j] else (j, i)
    W_1, W_2 = rules.W[strong], rules.W[weak]
    share = support[weak] / (support[strong] + support[weak])
    n_1, n_2 = (np.append(W[SLOW, :, :-1], -np.ones((W.shape[1], 1)), axis=1) for W in (W_1, W_2))
    cosine = (n_1 * n_2).sum(1) / np.sqrt((n_1**2).sum(1) * (n_2**2).sum(1))
    similarity = (1.0 - np.arccos(np.clip(cosine, -1.0, 1.0)) / np.pi).min()
    return W_1 + share * (W_2 - W_1) if similarity >= overlap else W_1.copy()


# Split


def across_labels(S, p):
    """Return the direction of the features that varies most together with the labels."""
    cross = S[:p, p:]
    if np.abs(cross).max(initial=0.0) <= LEAST_COVARIANCE:
        return along_axis(S, p)
    return with_sign(np.linalg.svd(cross, full_matrices=False)[0][:, 0])


def along_axis(S, p):
    """Return the direction in which the features vary most."""
    return with_sign(np.linalg.eigh(S[:p, :p])[1][:, -1])


def with_sign(v):
    """Return v so that its largest entry is above 0: LAPACK leaves the sign open."""
    return v * np.sign(v[np.abs(v).argmax()])


def split(rules, i, n_rules, S_0, direction):
    """Cut rule i in two at its mean along ``t = v'x``; the other half is last.

    The halves have c -+ s and S - s s', with s = sqrt(2/pi) cov(z, t) / sigma(t). A merge of both
    gives back the rule. Each has half of the sums, and the planes of the whole, which are left to
    the caller.
    """
    p, j, facts = rules.marginal.shape[1], n_rules, rules.facts
    S = covariance_of(rules, i)
    v = direction(S, p)
    for name in BY_RULE:
        getattr(rules, name)[j] = getattr(rules, name)[i]
    g = S[:, :p] @ v
    s = np.sqrt(BETWEEN / (v @ g[:p])) * g
    own = (
        facts["prior_share"][i] / facts["support"][i] * S_0[: len(s)]
    )  # once more: S_0 counts in each half
    within = add_diagonal(S - np.outer(s, s), own)
    facts["updates"][j] = (facts["updates"][i] - 1) // 2
    facts["updates"][i] -= facts["updates"][j] + 1
    facts["born"][j] = rules.clock[LEARNED]
    for half, side in ((i, -1.0), (j, 1.0)):
        halved = (rules.trust_sums, rules.seen, rules.G, rules.B, rules.label_sums)
        for sums in (*halved, *(facts[name] for name in ("support", *SUMS))):
            sums[half] *= 0.5
        if rules.label_sums.shape[-1]:
            move_labels(rules.label_sums[half], side * s[p:])
        facts["drifting"][half] = PARTING
        rules.center[half, : len(s)] += side * s
        set_gaussian(rules, half, within)
    for half in (i, j):
        note_tested(rules, half, n_rules + 1)


def move_labels(sums, change):
    """Let the mean of every label be another one by so much, in label sums."""
    n, ones, both = sums
    mean = ones / np.where(n > 0.0, n, 1.0)  # [c, k]: of label c over rows that know k
    more = n * change[:, None]
    both += more * mean.T + (more * mean.T).T
    ones += more


# Planes


def solve_planes(G, B, Delta, W_0):
    """Return ``(G + Delta)^-1 (B + Delta W_0)``."""
    H = add_diagonal(G, Delta)
    try:
        upper = factor(H)
    except np.linalg.LinAlgError:  # a prior that is lost beside G
        upper = factor(add_diagonal(H, ROUNDING * H.diagonal().max()))
    return solve(upper, (B + Delta * W_0).T).T


def derive(rules, i, m, prior, *, solves=True):
    """Derive P anew from G + Delta; if forgetting has halved the prior it is put back.

    Without, directions that no row excites would wind up: P grows as 1/Delta. Planes that solve the
    sums move by ``P dDelta (W_0 - W)``, and still do. A prior that rounding has taken, beside
    values of a million deviations, is raised to what can be told from rounding.
    """
    G, Delta, W = rules.G[i, m], rules.Delta[i, m], rules.W[i, m]
    more = np.where((Delta < 0.5 * prior).any(), prior - Delta, 0.0)
    Delta += more
    try:
        rules.P[i, m] = invert(add_diagonal(G, Delta))
    except np.linalg.LinAlgError:
        Delta[:] = np.maximum(Delta, ROUNDING * G.diagonal().max())
        rules.P[i, m] = invert(add_diagonal(G, Delta))
    if solves and more.any():
        W += (rules.W_0[i, m] - W) * more @ rules.P[i, m]
    rules.updates_since_refresh[i, m] = 0


def settle(rules, i, prior, *, planes=True):
    """Give a rule with new sums its P and, unless it has planes, those of least squares."""
    for m in range(rules.G.shape[1]):
        derive(rules, i, m, prior, solves=False)
        if planes:
            sums = rules.G[i, m], rules.B[i, m], rules.Delta[i, m]
            rules.W[i, m] = solve_planes(*sums, rules.W_0[i, m])


def label_correlation(sums):
    """Return the weighted correlation of labels; 0 where one is constant."""
    n, ones, both = sums
    n = np.where(n > 0.0, n, np.inf)
    cov = both / n - ones / n * (ones / n).T
    deviation = np.sqrt(np.maximum(np.diag(cov), NO_VARIANCE))
    varies = np.diag(cov) >= NO_VARIANCE
    C = np.clip(cov / np.outer(deviation, deviation), -1.0, 1.0)
    C = np.where(np.outer(varies, varies), C, 0.0)
    np.fill_diagonal(C, 1.0)
    return C


def renew_penalty(rules, i, mode):
    """Derive M of a rule from the correlation of its labels, and its largest eigenvalue."""
    if not rules.penalty.shape[-1]:
        rules.facts["penalty_age"][i] = 0.0
        return
    C = label_correlation(rules.label_sums[i])
    if mode in ("shift", "paper"):  # A = 1 - C, printed; A - mu_min(A) I is convex
        M = 1.0 - C
        if mode == "shift":
            M -= np.linalg.eigvalsh(M)[0] * np.eye(len(M))
    else:  # a graph Laplacian: diag(row sums of |C|) - C
        np.fill_diagonal(C, 0.0)
        C = np.maximum(C, 0.0) if mode == "laplacian" else C
        M = np.diag(np.abs(C).sum(axis=1)) - C
    rules.penalty[i], rules.facts["penalty_age"][i] = M, 0.0
    rules.facts["penalty_top"][i] = np.linalg.eigvalsh(M)[-1]


def flat_planes(G, B):
    """Return flat planes at the label means, which the sums tell."""
    planes = np.zeros_like(B)
    planes[:, -1] = B[:, -1] / max(G[-1, -1], 1e-300)
    return planes


def share_planes(rules, n_rules, Delta):
    """Solve for the planes of all rows, and hold every rule to them from now on.

    Activations sum to one, so the sums of all rules are those of all rows. Every W moves by
    ``P Delta (W_0 new - W_0 old)``: so it would be, had it been held to them from the start.
    """
    for m in range(rules.G.shape[1]):
        G, B = rules.G[:n_rules, m].sum(axis=0), rules.B[:n_rules, m].sum(axis=0)
        planes = solve_planes(G, B, Delta, flat_planes(G, B))
        for i in range(n_rules):
            pull = (planes - rules.W_0[i, m]) * rules.Delta[i, m]
            rules.W[i, m] += pull @ whole(rules.P[i, m])
            rules.W_0[i, m] = planes
    set_renewal(rules)


def set_renewal(rules):
    """Note when planes are to be shared next."""
    rows, p = rules.clock[LEARNED], rules.W.shape[-1] - 1
    rules.clock[RENEWAL] = rows + max(int(SHARE_GROWTH * rows), p // SPARED) + 1
