"""Slow, obvious reference of every formula of the method, in plain numpy.

Written from the equations, not from the kernels, and never importing the package: the kernels are
compared with this file. Where a formula has a direct and a clever form, the direct one stands here
(covariances are inverted, eigenvalues are computed, sums run over all rows).

Notation: p features, K labels, d = p + 1, q = p + K, r = [x, 1], z = [x, y]. `l` is the forgetting
factor of one row, lambda ** Psi. Arrays with a leading group axis have g = 1 entries while every
row had all labels, and g = K entries (one per label) afterwards.
"""

import copy
from types import SimpleNamespace

import numpy as np

from naive.cases import NaiveCases
from naive.sequel import NaiveSequel

CONVEX_MODES = ("shift", "laplacian", "signed")


# Activation and inference (section 2)


def extend(x):
    """Return r = [x, 1]."""
    return np.append(x, 1.0)


def distances(x, centers, precisions):
    """Squared Mahalanobis distance of x to every rule (section 2)."""
    return np.array([(x - c) @ A @ (x - c) for c, A in zip(centers, precisions, strict=True)])


def densities(x, centers, precisions):
    """-2 log of the Gaussian density of every rule at x, without the shared constant."""
    m2 = distances(x, centers, precisions)
    return m2 - np.array([np.linalg.slogdet(A)[1] for A in precisions])


def activations(m2, tau):
    """Psi = softmax(-m2 / (2 tau)), in log space (section 2); m2 of `distances` or `densities`."""
    exponent = -np.asarray(m2) / (2.0 * tau)
    exponent = exponent - exponent.max()
    return np.exp(exponent) / np.exp(exponent).sum()


def score_row(x, psi, W):
    """Score = sum_i Psi_i r W_i (section 2); W is (rules, d, K)."""
    r = extend(x)
    return sum(weight * (r @ plane) for weight, plane in zip(psi, W, strict=True))


def score_rows(X, centers, precisions, W, tau, measure=distances):
    """Scores of many rows: centers (rules, p), precisions (rules, p, p), W (rules, d, K)."""
    return np.array([score_row(x, activations(measure(x, centers, precisions), tau), W) for x in X])


# Antecedents (section 3)


def radius(vigilance, dim, k):
    """Distance beyond which a rule of support k lets a new rule be born (section 3)."""
    return vigilance * dim ** (1.0 / np.sqrt(2.0)) / (1.0 - 1.0 / (k + 1.0)) ** 4


def log_determinant(S):
    """Log determinant of a positive definite matrix."""
    sign, value = np.linalg.slogdet(S)
    assert sign > 0
    return value


def update_gaussian(center, precision, log_det, k, z, w=1.0):
    """Take z into a Gaussian of k samples (section 3): S <- (1 - a)(S + a e e'), a = w/(k + w).

    Returns center, precision, log_det; log_det is of the covariance and is moved by the change.
    """
    a = w / (k + w)
    e = z - center
    S = np.linalg.inv(precision)
    S_new = (1.0 - a) * (S + a * np.outer(e, e))
    change = log_determinant(S_new) - log_determinant(S)
    return center + a * e, np.linalg.inv(S_new), log_det + change


def floor_variance(precision, log_det, j, amount):
    """Add `amount` to the variance of coordinate j (section 3); returns precision, log_det."""
    S = np.linalg.inv(precision)
    S_new = S.copy()
    S_new[j, j] += amount
    change = log_determinant(S_new) - log_determinant(S)
    return np.linalg.inv(S_new), log_det + change


# Consequents: recursive weighted least squares and label moments (section 4)


def rfwls(P, G, B, D, Delta, W, r, y, psi, lam):
    """One row of the weighted least squares with forgetting l = lam ** psi (section 4).

    P, G are (d, d), Delta (d,), B, D, W (d, K). P is inverted to the information form and back.
    Returns P, G, B, D, Delta, W.
    """
    forget = lam**psi
    P_new = np.linalg.inv(forget * np.linalg.inv(P) + psi * np.outer(r, r))
    W_new = W + psi * np.outer(P_new @ r, y - r @ W)
    G_new = forget * G + psi * np.outer(r, r)
    B_new = forget * B + psi * np.outer(r, y)
    return P_new, G_new, B_new, forget * D, forget * Delta, W_new


def restore_prior(G, Delta, D, W, W_prior, prior):
    """Put the full prior precision back (forgetting floor, section 4).

    One group: G (d, d), Delta and prior (d,). Returns P, Delta, D.
    """
    D_new = D + (prior - Delta)[:, None] * (W - W_prior)
    return np.linalg.inv(G + np.diag(prior)), prior.copy(), D_new


def label_moments(weight, mean, cov, y, psi, forget):
    """Weighted label mean and co-moments, all labels known (section 4).

    Old mean in one factor, new mean in the other. Returns weight, mean, cov.
    """
    weight_new = forget * weight + psi
    mean_new = mean + psi / weight_new * (y - mean)
    cov_new = forget * cov + psi * np.outer(y - mean, y - mean_new)
    return weight_new, mean_new, cov_new


def label_moments_pairs(weight, mean, cov, y, psi, forget, known):
    """Weighted label moments per pair, over the rows where both labels were known (section 4).

    weight[c, e] and cov[c, e] belong to the pair, mean[c, e] is the mean of label e over the rows
    where c and e were both known. Returns weight, mean, cov.
    """
    weight_new, mean_new, cov_new = weight.copy(), mean.copy(), cov.copy()
    both = [(c, e) for c in range(len(y)) for e in range(len(y)) if known[c] and known[e]]
    for c, e in both:
        weight_new[c, e] = forget * weight[c, e] + psi
        mean_new[c, e] = mean[c, e] + psi / weight_new[c, e] * (y[e] - mean[c, e])
    for c, e in both:
        # The mean of label c over the rows of this pair stands at [e, c].
        step = (y[c] - mean[e, c]) * (y[e] - mean_new[c, e])
        cov_new[c, e] = forget * cov[c, e] + psi * step
    return weight_new, mean_new, cov_new


# Consequents: label correlation (section 4, table of the modes)


def correlation(cov, label_weight):
    """Label correlation from co-moments; 0 for constant labels, unit diagonal (section 4).

    label_weight is a number, (K,), (1, K) or per pair (K, K).
    """
    K = len(cov)
    weight = np.broadcast_to(label_weight, (K, K))
    corr = np.eye(K)
    for c in range(K):
        for e in range(K):
            if c == e or min(weight[c, e], weight[c, c], weight[e, e]) <= 0.0:
                continue
            variance_c = cov[c, c] / weight[c, c]
            variance_e = cov[e, e] / weight[e, e]
            if min(variance_c, variance_e) < 1e-12:
                continue
            value = cov[c, e] / weight[c, e] / np.sqrt(variance_c * variance_e)
            corr[c, e] = min(1.0, max(-1.0, value))
    return corr


def penalty(corr, mode):
    """Matrix M of the correlation term and its largest eigenvalue (section 4)."""
    K = len(corr)
    off_diagonal = 1.0 - np.eye(K)
    A = (1.0 - corr) * off_diagonal
    if mode == "none":
        return np.zeros((K, K)), 0.0
    if mode == "paper":
        M = A
    elif mode == "shift":
        M = A - np.linalg.eigvalsh(A)[0] * np.eye(K)
    elif mode == "laplacian":
        C = np.maximum(corr, 0.0) * off_diagonal
        M = np.diag(C.sum(axis=1)) - C
    elif mode == "signed":
        C = corr * off_diagonal
        M = np.diag(np.abs(C).sum(axis=1)) - C
    else:
        raise ValueError(f"unknown correlation mode {mode!r}")
    return M, np.linalg.eigvalsh(M)[-1]


# Consequents: proximal steps (section 4)


def hessians(G, Delta, K):
    """G + Delta of each of the K labels, from (d, d) or grouped (g, d, d) arrays."""
    G = np.reshape(G, (-1, *np.shape(G)[-2:]))
    Delta = np.reshape(Delta, (-1, np.shape(Delta)[-1]))
    groups = [G[c] + np.diag(Delta[c]) for c in range(len(G))]
    return groups * K if len(groups) == 1 else groups


def times_hessians(G, Delta, W):
    """(G + Delta) W, column by column."""
    columns = [H @ W[:, c] for c, H in enumerate(hessians(G, Delta, W.shape[1]))]
    return np.stack(columns, axis=1)


def gradient(G, B, Delta, W, W_prior):
    """Least-squares gradient D = (G + Delta) W - (B + Delta W_prior) (section 1)."""
    prior = np.reshape(Delta, (-1, np.shape(Delta)[-1])).T * W_prior
    return times_hessians(G, Delta, W) - (B + prior)


def objective(W, G, B, Delta, W_prior, M, alpha, beta):
    """J of section 4 up to the constant 1/2 tr(Y'QY)."""
    slopes = W[:-1]
    zero = np.zeros_like(np.asarray(Delta))
    fit = 0.5 * np.sum(W * times_hessians(G, zero, W)) - np.sum(W * B)
    Delta_columns = np.reshape(Delta, (-1, np.shape(Delta)[-1])).T
    prior = 0.5 * np.sum(Delta_columns * (W - W_prior) ** 2)
    related = 0.5 * beta * np.trace(M @ slopes.T @ slopes)
    return fit + prior + alpha * np.abs(slopes).sum() + related


def smooth_gradient(D, W, M, beta):
    """Gradient of the smooth part of J: D + beta E W M, E = diag(1, .., 1, 0) (section 4)."""
    E = np.diag([1.0] * (len(W) - 1) + [0.0])
    return D + beta * E @ W @ M


def soft_threshold(V, amount):
    """Shrink every entry towards 0 by amount."""
    return np.sign(V) * np.maximum(np.abs(V) - amount, 0.0)


MARGIN = 1.1  # power iteration estimates from below
CHECK_EVERY = 256  # updates of a P between two looks at it


def power_iteration(G, Delta, v, r):
    """Estimate lambda_max(G + Delta) from below by one step from v (from r if v is zero).

    G (d, d), Delta (d,). Returns the estimate and the new direction (section 4).
    """
    if not np.any(v):
        v = r / np.linalg.norm(r)
    t = (G + np.diag(Delta)) @ v
    return np.linalg.norm(t), t / np.linalg.norm(t)


def proximal_move(W, D, M, beta, alpha, lip):
    """V - W of one proximal step; lip is a number or one per column (section 4)."""
    lip = np.broadcast_to(lip, (W.shape[1],))
    V = W - smooth_gradient(D, W, M, beta) / lip
    V[:-1] = soft_threshold(V[:-1], alpha / lip)
    return V - W


def proximal_step(W, D, G, Delta, M, top, curvature, alpha, beta, known=None, lipschitz="exact"):
    """One proximal step (section 4) in shared (g = 1) or group (g = K) mode.

    G (g, d, d), Delta (g, d), curvature (g,). Columns not known do not move. With "exact" the
    guard raises the curvature of a group while it is below the curvature along the step; "paper"
    takes the printed square root and has no guard. Returns W, D, curvature.
    """
    K = W.shape[1]
    known = np.ones(K, dtype=bool) if known is None else np.asarray(known, dtype=bool)
    curvature = np.array(curvature, dtype=float).reshape(-1)
    groups = [np.arange(K)] if len(curvature) == 1 else [np.array([c]) for c in range(K)]
    while True:
        lip = curvature + beta * top
        if lipschitz == "paper":
            lip = np.sqrt(lip)
        move = np.where(known, proximal_move(W, D, M, beta, alpha, lip), 0.0)
        bent = times_hessians(G, Delta, move)
        raised = False
        for g, columns in enumerate(groups):
            length = np.sum(move[:, columns] ** 2)
            energy = np.sum(move[:, columns] * bent[:, columns])
            if lipschitz == "exact" and energy > curvature[g] * length * (1.0 + 1e-12):
                curvature[g] = MARGIN * energy / length
                raised = True
        if not raised:
            return W + move, D + bent, curvature


# Merging (section 3)


def bhattacharyya(c1, S1, c2, S2):
    """Bhattacharyya distance of two Gaussians (section 3)."""
    e = c1 - c2
    S_bar = (S1 + S2) / 2.0
    spread = log_determinant(S_bar) - (log_determinant(S1) + log_determinant(S2)) / 2.0
    return e @ np.linalg.inv(S_bar) @ e / 8.0 + spread / 2.0


def merge_gaussians(c1, S1, k1, s1, c2, S2, k2, s2, S_0):
    """Gaussian of the union of the samples of two rules, the prior scatter counted once.

    k S = s diag(S_0) + scatter for each rule (section 3). Returns c, S, k, s.
    """
    k = k1 + k2
    e = c1 - c2
    scatter1 = k1 * S1 - s1 * np.diag(S_0)
    scatter2 = k2 * S2 - s2 * np.diag(S_0)
    s = max(s1, s2)
    S = (scatter1 + scatter2 + k1 * k2 / k * np.outer(e, e) + s * np.diag(S_0)) / k
    return (k1 * c1 + k2 * c2) / k, S, k, s


def merge_bandwidth(p, K, merge_volume, product_space=True):
    """tau_q of the merge test, and the log of the volume factor (section 3)."""
    if merge_volume == "paper":
        return 1.0, np.log(p)
    tau_q = float(p + K) if product_space else float(p)
    return tau_q, tau_q * np.log(merge_volume)


def merge_screen(e, precision1, precision2, tau_q, merge_overlap):
    """Cheap look at the centres before the merge test: False means hopeless (section 3)."""
    nearest = min(e @ precision1 @ e, e @ precision2 @ e)
    return np.exp(-nearest / (8.0 * tau_q)) >= merge_overlap


def merge_allowed(c1, S1, k1, s1, c2, S2, k2, s2, S_0, tau_q, log_volume, merge_overlap):
    """Merge test: enough overlap and no volume blow-up (section 3)."""
    overlap = np.exp(-bhattacharyya(c1, S1, c2, S2) / tau_q)
    _, S, _, _ = merge_gaussians(c1, S1, k1, s1, c2, S2, k2, s2, S_0)
    both = np.logaddexp(0.5 * log_determinant(S1), 0.5 * log_determinant(S2))
    return bool(overlap >= merge_overlap and 0.5 * log_determinant(S) <= log_volume + both)


def pool_moments(w1, m1, cov1, w2, m2, cov2):
    """Label moments of the union of the rows of two rules (section 3).

    Shared form: w (K,) or (1, K), m alike, cov (K, K); pair form: all (K, K). Returns w, m, cov.
    """
    K = len(cov1)
    shape = np.shape(m1)
    w1, m1, w2, m2 = (np.broadcast_to(a, (K, K)) for a in (w1, m1, w2, m2))
    weight, mean, cov = np.zeros((K, K)), np.zeros((K, K)), np.zeros((K, K))
    for c in range(K):
        for e in range(K):
            weight[c, e] = w1[c, e] + w2[c, e]
            if weight[c, e] == 0.0:
                continue
            mean[c, e] = (w1[c, e] * m1[c, e] + w2[c, e] * m2[c, e]) / weight[c, e]
            apart = (m1[e, c] - m2[e, c]) * (m1[c, e] - m2[c, e])
            between = w1[c, e] * w2[c, e] / weight[c, e] * apart
            cov[c, e] = cov1[c, e] + cov2[c, e] + between
    if shape == (K, K):
        return weight, mean, cov
    return weight[0].reshape(shape), mean[0].reshape(shape), cov


def consequent_similarity(W1, W2):
    """min_c (1 - phi_c / pi), phi_c the angle of the plane normals (w_c, -1), slopes only."""
    similarity = []
    for w1, w2 in zip(W1[:-1].T, W2[:-1].T, strict=True):
        n1, n2 = np.append(w1, -1.0), np.append(w2, -1.0)
        cosine = n1 @ n2 / np.linalg.norm(n1) / np.linalg.norm(n2)
        similarity.append(1.0 - np.arccos(min(1.0, max(-1.0, cosine))) / np.pi)
    return min(similarity)


def merge_weights_paper(W1, W2, k1, k2, overlap):
    """Printed average of two consequents (section 3); rule 1 is the better supported one.

    The angle compares slopes only; the average itself takes the intercept row along.
    """
    rho = 1.0 if consequent_similarity(W1, W2) >= overlap else 0.0
    return W1 + k2 / (k1 + k2) * rho * (W2 - W1)


# Splitting (section 3): a Gaussian cut at its mean, which every statistic is a moment of
OF_LATE = 0.998  # of the rows that a rule decided, at every row
LEAST_TO_SPLIT = 40  # rows of a rule
TRIAL = 100  # rows after its birth, before a rule can be idle
SILENCE = 10  # rows that a rule with the least share should have won meanwhile, to be silent


def cut_direction(S, p, by):
    """Direction v of the input space across which a Gaussian is cut; its largest entry positive.

    "labels": the unit vector with the largest sum of squared covariances with the labels. "axis":
    with the largest variance.
    """
    if by == "labels":
        values, vectors = np.linalg.eigh(S[:p, p:] @ S[p:, :p])
    else:
        values, vectors = np.linalg.eigh(S[:p, :p])
    v = vectors[:, np.argmax(values)]
    return v if v[np.argmax(np.abs(v))] > 0.0 else -v


def half_gaussians(mean, S, v):
    """Means of both halves and their covariance, cut along t = v'x, x the leading part of z.

    |t - E t| of a Gaussian has the mean sqrt(2 / pi) sigma; the rest of z follows t by its slope
    on t. What lies between the halves is taken out of the variance.
    """
    n = len(v)
    variance = v @ S[:n, :n] @ v
    slope = S[:, :n] @ v / variance
    apart = np.sqrt(2.0 / np.pi * variance) * slope
    return (mean - apart, mean + apart), S - np.outer(apart, apart)


def half_sums(H, b, v):
    """Both halves of sum w r r' (d, d) and sum w r y (d, K), from the moments of [x, 1, y]."""
    w = H[-1, -1]
    if w == 0.0:
        return [(H.copy(), b.copy())] * 2, np.zeros(b.shape[1])
    p, mean_x, mean_y = len(v), H[:-1, -1] / w, b[-1] / w
    mean = np.concatenate([mean_x, mean_y])
    K = len(mean_y)
    # The variances of y take no part: no half of G or B needs them.
    S = np.zeros((p + K, p + K))
    S[:p, :p] = H[:-1, :-1] / w - np.outer(mean_x, mean_x)
    S[:p, p:] = b[:-1] / w - np.outer(mean_x, mean_y)
    S[p:, :p] = S[:p, p:].T
    means, within = half_gaussians(mean, S, v)
    halves = []
    for m in means:
        second = within + np.outer(m, m)
        half_H = np.block([[second[:p, :p], m[:p, None]], [m[None, :p], np.ones((1, 1))]])
        half_b = np.vstack([second[:p, p:], m[None, p:]])
        halves.append((0.5 * w * half_H, 0.5 * w * half_b))
    return halves, means[1][p:] - mean_y


# Batch formulas


def batch_gaussian(Z, S_0):
    """Mean and covariance (S_0 + scatter) / k of the rows a rule won (section 3)."""
    center = Z.mean(axis=0)
    scatter = sum(np.outer(z - center, z - center) for z in Z)
    return center, (np.diag(S_0) + scatter) / len(Z)


def row_weights(psi, lam=1.0):
    """Weight of every row after the last one: Psi_t times the later l, and the product of all l.

    The product is what forgetting leaves of the prior (section 4).
    """
    forget = lam ** np.asarray(psi, dtype=float)
    weights = np.array([psi[t] * np.prod(forget[t + 1 :]) for t in range(len(psi))])
    return weights, np.prod(forget)


def batch_moments(R, Y, psi, lam=1.0):
    """G, B, weight, label mean and label co-moments of given activations (section 4)."""
    Q, _ = row_weights(psi, lam)
    d, K = R.shape[1], Y.shape[1]
    G, B, cov = np.zeros((d, d)), np.zeros((d, K)), np.zeros((K, K))
    for w, r, y in zip(Q, R, Y, strict=True):
        G += w * np.outer(r, r)
        B += w * np.outer(r, y)
    weight = Q.sum()
    mean = Q @ Y / weight if weight > 0.0 else np.zeros(K)
    for w, y in zip(Q, Y, strict=True):
        cov += w * np.outer(y - mean, y - mean)
    return G, B, weight, mean, cov


def ridge(G, B, Delta, W_prior):
    """W = (G + Delta)^-1 (B + Delta W_prior) for shared (d, d) or grouped G (section 4)."""
    K = B.shape[1]
    Delta_columns = np.broadcast_to(np.reshape(Delta, (-1, len(B))).T, B.shape)
    right = B + Delta_columns * W_prior
    columns = [np.linalg.solve(H, right[:, c]) for c, H in enumerate(hessians(G, Delta, K))]
    return np.stack(columns, axis=1)


def fit_weights(G, B, Delta, W_prior, M, alpha, beta, tolerance=1e-13, max_iterations=500_000):
    """Minimiser of J for a positive semidefinite M, by plain proximal gradient (section 4)."""
    W = ridge(G, B, Delta, W_prior)
    steepest = max(np.linalg.eigvalsh(H)[-1] for H in hessians(G, Delta, B.shape[1]))
    lip = steepest + beta * np.linalg.eigvalsh(M)[-1]
    for _ in range(max_iterations):
        D = gradient(G, B, Delta, W, W_prior)
        move = proximal_move(W, D, M, beta, alpha, lip)
        W = W + move
        if np.abs(move).max() <= tolerance * max(1.0, np.abs(W).max()):
            return W
    raise RuntimeError("fit_weights did not converge")


# The whole stream learner

FIELD_NAMES = """center joint_precision input_precision log_det support updates prior_share
P G B Delta W_prior W D weight use decided decided_sum decided_known decided_ones
label_weight label_mean label_cov penalty penalty_top penalty_slack uncorrected
curvature curvature_direction unchecked trial drifting stopped uid born last_won"""
FIELD_NAMES = tuple(FIELD_NAMES.split())
# In a merge; G_1 + G_2 + max(Delta_1, Delta_2) is at most the sum of both matrices.
ADDED = "use decided decided_sum decided_known decided_ones uncorrected curvature trial".split()
SUMS = ("weight", "use", "decided", "penalty_top", "penalty_slack", "uncorrected")
GROUPED = ("P", "G", "Delta", "curvature", "curvature_direction", "unchecked")


class Rule(SimpleNamespace):
    """State of one rule, the table of section 1 plus the bookkeeping of the steps."""

    def joint_covariance(self):
        """Covariance in the product space."""
        return np.linalg.inv(self.joint_precision)

    def input_covariance(self):
        """Marginal covariance of x."""
        return np.linalg.inv(self.input_precision)


def stack_rules(rules):
    """Arrays by field name, leading axis = rule."""
    return {name: np.array([getattr(rule, name) for rule in rules]) for name in FIELD_NAMES}


def unstack_rules(arrays):
    """Rules from arrays by field name, leading axis = rule."""
    n = len(arrays["support"])
    found = {name: [copy.copy(value) for value in array] for name, array in arrays.items()}
    return [Rule(**{name: found[name][i] for name in FIELD_NAMES}) for i in range(n)]


class Learning:
    """Parameters of planes and Gaussians, with values that change little."""

    prior, prior_intercept, bandwidth, activation = 1.0, 0.01, 1.0, "distance"
    alpha = beta = step_interval = variance_floor = activation_floor = 0.0
    correlation, lipschitz, n_steps, forgetting = "shift", "exact", 1, 1.0
    product_space, weight_limit = True, 1e6


class Evolving(Learning):
    """Those of births, merges, splits and all that follows, too."""

    vigilance, birth_learning, birth_plane, max_rules = 0.5, True, "nearest", None
    merging, merge_overlap, merge_volume, merge_consequents = True, 0.8, 1.1, "exact"
    cases, case_width, case_noise, caution, time = 0, 0.25, 1.0, False, False
    splitting, split_share, least_share, shared, renewal = "off", 1.0, 0.0, None, None


def set_parameters(learner, p, K, S_0, values):
    """Make attributes of all parameters, and of what follows from them."""
    assert all(hasattr(learner, name) for name in values), values
    vars(learner).update(values)
    learner.p, learner.K, learner.q, learner.d = p, K, p + K, p + 1
    learner.S_0 = np.asarray(S_0, dtype=float)
    slope, intercept = float(learner.prior), float(learner.prior_intercept)
    learner.prior = np.append(np.full(p, slope), intercept)
    learner.tau, learner.density = learner.bandwidth, learner.activation == "density"
    learner.idle = learner.correlation == "none" or (learner.alpha == 0.0 == learner.beta)
    learner.k_max = np.inf if learner.forgetting == 1.0 else 1.0 / (1.0 - learner.forgetting)
    learner.row = 0


class NaiveLearner(Evolving):
    """The stream learner of section 4 ("one sample, in this order") over a list of rules."""

    amount = 1.0  # weight of the next row

    def weigh(self, amount):
        """Let the next row have a weight, for all that learns it."""
        parts = (self, self.cases, self.sequel, getattr(self, "recent", None))
        for part in parts:
            if part is not None:
                part.amount = amount

    def __init__(self, *, p, K, S_0, **values):
        set_parameters(self, p, K, S_0, values)
        self.cases = NaiveCases(p, K, self.cases, self.case_width, self.case_noise)
        on = {"trust": self.caution, "time": self.time}
        self.sequel = NaiveSequel(K, **on) if any(on.values()) else None
        self.rules, self.groups, self.tested = [], 1, {}
        self.next_uid = self.births = self.merges = self.splits = 0

    # inference

    def activations(self, x):
        """Psi of every rule for x (section 2), or from the densities of their Gaussians."""
        centers = [rule.center[: self.p] for rule in self.rules]
        measure = densities if self.density else distances
        m2 = measure(x, centers, [rule.input_precision for rule in self.rules])
        return activations(m2, self.tau)

    def input_distances(self, x):
        """Squared marginal distances."""
        centers = [rule.center[: self.p] for rule in self.rules]
        return distances(x, centers, [rule.input_precision for rule in self.rules])

    def joint_distances(self, z):
        """Squared distances in the product space."""
        centers = [rule.center for rule in self.rules]
        return distances(z, centers, [rule.joint_precision for rule in self.rules])

    def score(self, x, ahead=0):
        """K continuous outputs for a row that comes ``ahead`` rows after the next (section 9)."""
        said = self.add_up(x)
        return said if self.sequel is None else self.sequel.answer(said, ahead)

    def rows_of(self, x):
        """The row as every rule sees it."""
        return [x] * len(self.rules)

    def seen(self, x):
        """The row as cases see it."""
        return x

    def planes(self):
        """The planes with which each rule answers."""
        return [rule.W for rule in self.rules]

    def answers(self, x):
        """What each rule says at x."""
        rows = zip(self.rows_of(x), self.planes(), strict=True)
        return np.array([extend(row) @ W for row, W in rows])

    def remembered(self, x):
        """What all cases say at x."""
        return self.cases.recall(x)

    def add_up(self, x):
        """What rules and cases say of one row (section 2)."""
        if not self.rules:
            return np.zeros(self.K)
        return self.activations(x) @ self.answers(x) + self.remembered(self.seen(x))

    # one row

    def learn_sequel(self, x, y, known):
        """What follows rules and cases learns first, from what they say before they do."""
        if self.sequel is not None and (self.rules or not known.any()):
            self.sequel.learn(self.add_up(x), y)

    def learn_row(self, x, y):
        """Learn one row; NaN in y is an unknown label. Returns what happened to the rules."""
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        known = ~np.isnan(y)
        self.learn_sequel(x, y, known)
        if not known.any():
            return "nothing"
        if not known.all():
            self.switch_to_groups()
        winner, fits = self.find_winner(x, y, known)
        z = np.append(x, self.fill_labels(x, y, known, winner))
        newborn = None
        if fits:
            most, self.k_max = self.k_max, self.cap(self.rules[winner])
            self.update_antecedent(self.rules[winner], z)
            self.k_max = most
        else:
            newborn = self.give_birth(z, winner)
        if newborn is None or self.birth_learning:
            psi = self.activations(x)
            self.learn_all(x, y, known, psi, newborn)
            strongest = np.argmax(psi)
            self.count_decided(self.rules[strongest], self.rows_of(x)[strongest], y, known)
        happened = "birth" if newborn is not None else "update"
        if newborn is None and self.merging:
            happened = self.try_merge(winner) or happened
        if happened in ("birth", "update"):
            happened = self.keep_even(None if newborn else winner) or happened
        if self.shared is not None and self.row + 1 >= self.renewal:
            self.renew_shared_planes()
        self.row += 1
        return happened

    def cap(self, rule):
        """Most support of a rule that is about to learn."""
        return self.k_max

    def learn_all(self, x, y, known, psi, newborn):
        """Cases and planes; each rule learns the row as it sees it."""
        if self.cases.capacity > 0:
            kept = self.forgetting ** (1.0 / len(self.rules))
            self.cases.learn(self.seen(x), y - psi @ self.answers(x), self.row, kept)
        for rule, weight, row in zip(self.rules, psi, self.rows_of(x), strict=True):
            if rule is not newborn and weight >= self.activation_floor:
                self.learn_consequent(rule, extend(row), y, known, self.amount * weight)
                self.hold_prior(rule)

    def count_decided(self, strongest, x, y, known):
        """What a reader is told: rows of late that a rule decided, features and labels there."""
        for rule in self.rules:
            rule.decided *= OF_LATE
            rule.decided_sum = OF_LATE * rule.decided_sum
            rule.decided_known = OF_LATE * rule.decided_known
            rule.decided_ones = OF_LATE * rule.decided_ones
        strongest.decided += self.amount
        strongest.decided_sum += self.amount * x
        strongest.decided_known += self.amount * known
        strongest.decided_ones += self.amount * np.where(known, y, 0.0)

    def renew_shared_planes(self):
        """Fit one set of planes to all rows, as far as they are kept, and hold all rules to it."""
        G, B = sum(rule.G for rule in self.rules), sum(rule.B for rule in self.rules)
        Delta = np.tile(np.append(np.full(self.p, self.shared), 0.01 * self.shared), (len(G), 1))
        flat = np.zeros((self.d, self.K))
        weights = np.broadcast_to(G[:, -1, -1], self.K)
        flat[-1] = np.where(weights > 0.0, B[-1] / np.where(weights > 0.0, weights, 1.0), 0.0)
        planes = ridge(G, B, Delta, flat)
        for rule in self.rules:
            before = ridge(rule.G, rule.B, rule.Delta, rule.W_prior)
            after = ridge(rule.G, rule.B, rule.Delta, planes)
            rule.W = rule.W + after - before
            rule.W_prior = planes.copy()
        rows = self.row + 1
        self.renewal = rows + 1 + max(int(0.03 * rows), self.p // 8)

    def keep_even(self, winner):
        """Split the winner if it is too large, or take in a rule that is idle (section 3)."""
        rows = [rule.updates + 1 for rule in self.rules]
        if self.splitting != "off" and winner is not None:
            own = rows[winner]
            if own >= LEAST_TO_SPLIT and own > self.split_share * self.rows_in_use():
                self.split(winner)
                return "split"
        for idle, rule in enumerate(self.rules):
            age = self.row - rule.born
            if len(rows) > 1 and age >= TRIAL and rows[idle] < self.least_share * age:
                self.take_in(idle)
                return "merge"
        return None

    def rows_in_use(self):
        """Rows of the rules that have won one of late (section 3)."""
        silence = [self.least_share * (self.row - rule.last_won) for rule in self.rules]
        return sum(
            rule.updates + 1
            for rule, silent in zip(self.rules, silence, strict=True)
            if silent <= SILENCE
        )

    def find_winner(self, x, y, known):
        """Index of the nearest rule (None without rules), and whether it takes the row."""
        if not self.rules:
            return None, False
        if known.all() and self.product_space:
            m2, dim = self.joint_distances(np.append(x, y)), self.q
        else:
            m2, dim = self.input_distances(x), self.p
        size = np.array([self.log_size(rule, dim) for rule in self.rules])
        winner = int(np.argmin(m2 + size if self.density else m2))
        limit = radius(self.vigilance, dim, self.rules[winner].support)
        return winner, bool(np.sqrt(m2[winner]) <= limit)

    def log_size(self, rule, dim):
        """Log-determinant of the covariance of a rule in the space of this dimension."""
        return log_determinant(
            rule.joint_covariance() if dim == self.q else rule.input_covariance()
        )

    def fill_labels(self, x, y, known, winner):
        """Labels of the joint update: unknown ones are the winner's clipped prediction."""
        guess = np.full(self.K, 0.5)
        if winner is not None:
            guess = np.clip(self.answers(x)[winner], 0.0, 1.0)
        return np.where(known, y, guess)

    # antecedents (section 3)

    def update_antecedent(self, rule, z):
        """Take z into the Gaussian of its winner, cap the support, lift one variance."""
        p, k = self.p, rule.support
        joint_log_det, input_log_det = rule.log_det
        center, rule.joint_precision, joint_log_det = update_gaussian(
            rule.center, rule.joint_precision, joint_log_det, k, z, self.amount
        )
        _, rule.input_precision, input_log_det = update_gaussian(
            rule.center[:p], rule.input_precision, input_log_det, k, z[:p], self.amount
        )
        rule.center = center
        rule.support = min(k + self.amount, self.k_max)
        rule.prior_share *= rule.support / (k + self.amount)
        rule.updates += 1
        rule.last_won = self.row
        if self.variance_floor > 0.0:
            j = rule.updates % self.q
            amount = self.amount * self.variance_floor * self.q * self.S_0[j] / rule.support
            rule.joint_precision, joint_log_det = floor_variance(
                rule.joint_precision, joint_log_det, j, amount
            )
            if j < p:
                rule.input_precision, input_log_det = floor_variance(
                    rule.input_precision, input_log_det, j, amount
                )
        rule.log_det = np.array([joint_log_det, input_log_det])

    def give_birth(self, z, nearest):
        """Append a rule at z that starts with the planes of the others, as they fire at z.

        ``birth_plane="nearest"``: with those of the nearest rule (section 3).
        """
        if nearest is None:
            W = np.zeros((self.d, self.K))
        elif self.birth_plane == "nearest":
            W = self.rules[nearest].W.copy()
        else:
            psi = self.activations(z[: self.p])
            W = sum(share * rule.W for share, rule in zip(psi, self.rules, strict=True))
        newborn = self.new_rule(z, W)
        # As if just tested: as wide as S_0 it would look like a part of any neighbour.
        for rule in self.rules:
            self.tested[frozenset((rule.uid, newborn.uid))] = rule.updates + 2
        self.rules.append(newborn)
        self.births += 1
        return self.rules[-1]

    def new_rule(self, z, W):
        """A rule without data: center z, covariance S_0, consequents W as prior."""
        p, K, d, g = self.p, self.K, self.d, self.groups
        uid, self.next_uid = self.next_uid, self.next_uid + 1
        return Rule(
            center=np.array(z, dtype=float),
            joint_precision=np.diag(1.0 / self.S_0),
            input_precision=np.diag(1.0 / self.S_0[:p]),
            log_det=np.array([np.log(self.S_0).sum(), np.log(self.S_0[:p]).sum()]),
            support=max(1.0, self.amount),
            updates=0,
            prior_share=max(1.0, self.amount),
            P=np.array([np.diag(1.0 / self.prior)] * g),
            G=np.zeros((g, d, d)),
            B=np.zeros((d, K)),
            Delta=np.array([self.prior] * g),
            W_prior=np.array(W),
            W=np.array(W),
            D=np.zeros((d, K)),
            decided_sum=np.zeros(p),
            decided_known=np.zeros(K),
            decided_ones=np.zeros(K),
            label_weight=np.zeros((g, K)),
            label_mean=np.zeros((g, K)),
            label_cov=np.zeros((K, K)),
            penalty=np.zeros((K, K)),
            **dict.fromkeys(SUMS, 0.0),
            curvature=np.full(g, self.prior.max()),
            curvature_direction=np.zeros((g, d)),
            unchecked=np.zeros(g),
            trial=np.zeros(4),
            drifting=0,
            stopped=0,
            uid=uid,
            born=self.row,
            last_won=self.row,
        )

    # consequents (section 4)

    def switch_to_groups(self):
        """From the first partly labelled row on, P, G, Delta and moments are per label."""
        if self.groups == 1:
            for rule in self.rules:
                for name in (*GROUPED, "label_weight", "label_mean"):
                    setattr(rule, name, np.array([getattr(rule, name)[0]] * self.K))
        self.groups = self.K

    def learn_consequent(self, rule, r, y, known, psi):
        """RFWLS, moments, penalty, curvature and proximal steps of one rule, in this order."""
        self.learn_weights(rule, r, y, known, psi)
        self.learn_moments(rule, y, known, psi)
        rule.uncorrected += 0.0 if self.idle else psi
        if rule.uncorrected >= self.step_interval:
            self.correct(rule, r, known)

    def correct(self, rule, r, known):
        """Penalty and curvature if due, then the proximal steps; nothing if the mode has none."""
        rule.uncorrected = 0.0
        if self.idle or rule.stopped:
            return
        if rule.weight >= 1.0 and rule.penalty_slack >= 0.1 * rule.weight:
            self.derive_penalty(rule)
        self.refresh_curvature(rule, r, known)
        for _ in range(self.n_steps):
            if not rule.stopped:
                self.step(rule, known)

    def learn_weights(self, rule, r, y, known, psi):
        """RFWLS for all columns at once (g = 1) or for each known column on its own (g = K)."""
        if len(rule.P) == 1:
            groups = [(0, slice(None))]
        else:
            groups = [(c, slice(c, c + 1)) for c in np.flatnonzero(known)]
        for g, columns in groups:
            B, D, W = rule.B[:, columns], rule.D[:, columns], rule.W[:, columns]
            P, G, B, D, Delta, W = rfwls(
                rule.P[g], rule.G[g], B, D, rule.Delta[g], W, r, y[columns], psi, self.forgetting
            )
            rule.P[g], rule.G[g], rule.Delta[g] = P, G, Delta
            if psi > 0.0:
                rule.unchecked[g] = (rule.unchecked[g] + 1) % CHECK_EVERY
            rule.B[:, columns], rule.D[:, columns], rule.W[:, columns] = B, D, W

    def hold_prior(self, rule):
        """Forgetting floor: the full prior comes back once a group has lost half of it."""
        for g in range(len(rule.P)):
            columns = slice(None) if len(rule.P) == 1 else slice(g, g + 1)
            if np.any(rule.Delta[g] < 0.5 * self.prior):
                D, W, W_prior = (a[:, columns] for a in (rule.D, rule.W, rule.W_prior))
                restored = restore_prior(rule.G[g], rule.Delta[g], D, W, W_prior, self.prior)
                rule.P[g], rule.Delta[g], rule.D[:, columns] = restored
                rule.unchecked[:] = 0  # P of every group is derived anew

    def learn_moments(self, rule, y, known, psi):
        """Weight and label moments, shared or per pair."""
        forget = self.forgetting**psi
        rule.weight = forget * rule.weight + psi
        rule.use += psi
        rule.penalty_slack = forget * rule.penalty_slack + psi
        if len(rule.P) == 1:
            weight, mean, rule.label_cov = label_moments(
                rule.label_weight[0], rule.label_mean[0], rule.label_cov, y, psi, forget
            )
            rule.label_weight, rule.label_mean = weight[None, :], mean[None, :]
        else:
            rule.label_weight, rule.label_mean, rule.label_cov = label_moments_pairs(
                rule.label_weight, rule.label_mean, rule.label_cov, y, psi, forget, known
            )

    def derive_penalty(self, rule):
        """M and its largest eigenvalue from the label moments."""
        corr = correlation(rule.label_cov, rule.label_weight)
        rule.penalty, rule.penalty_top = penalty(corr, self.correlation)
        rule.penalty_slack = 0.0

    def refresh_curvature(self, rule, r, known):
        """Follow lambda_max(G + Delta) of the groups that learned."""
        for g in range(len(rule.curvature)):
            if len(rule.curvature) == 1 or known[g]:
                estimate, direction = power_iteration(
                    rule.G[g], rule.Delta[g], rule.curvature_direction[g], r
                )
                rule.curvature[g] = MARGIN * estimate
                rule.curvature_direction[g] = direction

    def step(self, rule, known):
        """One proximal step with the divergence guard."""
        state = rule.W, rule.D, rule.G, rule.Delta, rule.penalty, rule.penalty_top, rule.curvature
        rule.W, rule.D, rule.curvature = proximal_step(
            *state, self.alpha, self.beta, known, self.lipschitz
        )
        # Written so that NaN counts as divergence.
        if not np.abs(rule.W).max() <= self.weight_limit:
            rule.stopped = self.row + 1
            rule.W = ridge(rule.G, rule.B, rule.Delta, rule.W_prior)
            rule.D = np.zeros_like(rule.D)

    # merging (section 3)

    def try_merge(self, winner):
        """Test the winner against the first due pair that passes the screen, if there is one."""
        one = self.rules[winner]
        tau_q, log_volume = merge_bandwidth(self.p, self.K, self.merge_volume, self.product_space)
        for other, two in enumerate(self.rules):
            pair, samples = frozenset((one.uid, two.uid)), one.updates + two.updates + 2
            young = min(one.updates, two.updates) + 1 < len(self.antecedent(one)[0])
            if other == winner or young or samples < 1.1 * self.tested.get(pair, 0):
                continue
            self.tested[pair] = samples
            c1, S1, S_0 = self.antecedent(one)
            c2, S2, _ = self.antecedent(two)
            precisions = np.linalg.inv(S1), np.linalg.inv(S2)
            if not merge_screen(c1 - c2, *precisions, tau_q, self.merge_overlap):
                continue
            first = (c1, S1, one.support, one.prior_share)
            second = (c2, S2, two.support, two.prior_share)
            small = one.updates + two.updates + 2 <= self.split_share * self.rows_in_use()
            allowed = merge_allowed(*first, *second, S_0, tau_q, log_volume, self.merge_overlap)
            if allowed and (small or self.splitting == "off"):
                overlap = np.exp(-bhattacharyya(c1, S1, c2, S2) / tau_q)
                self.merge(min(winner, other), max(winner, other), overlap)
                return "merge"
            return "comparison"
        return None

    def take_in(self, idle):
        """Merge an idle rule with the one that is nearest to its center, alike or not."""
        center, _, _ = self.antecedent(self.rules[idle])
        gaps = []
        for rule in self.rules:
            c, S, _ = self.antecedent(rule)
            gaps.append((center - c) @ np.linalg.inv(S) @ (center - c))
        gaps[idle] = np.inf
        other = int(np.argmin(gaps))
        self.merge(min(idle, other), max(idle, other), 0.0)

    def split(self, index):
        """Cut a rule in two; the first half stays in its place, the second comes last."""
        parent = self.rules[index]
        v = cut_direction(parent.joint_covariance(), self.p, self.splitting)
        lower, upper = copy.deepcopy(parent), copy.deepcopy(parent)
        upper.uid, self.next_uid = self.next_uid, self.next_uid + 1
        upper.born = self.row
        lower.drifting = upper.drifting = 203
        upper.updates = (parent.updates - 1) // 2
        lower.updates = parent.updates - 1 - upper.updates
        self.split_gaussian(parent, lower, upper, v)
        self.split_moments(parent, lower, upper, v)
        for half in (lower, upper):
            half.support, half.weight, half.use = (
                parent.support / 2,
                parent.weight / 2,
                parent.use / 2,
            )
            half.trial = parent.trial / 2
            half.decided = parent.decided / 2
            half.decided_known = parent.decided_known / 2
            moved = half.center - parent.center
            half.decided_sum = parent.decided_sum / 2 + half.decided * moved[: self.p]
            half.decided_ones = parent.decided_ones / 2 + half.decided_known * moved[self.p :]
            half.uncorrected, half.penalty_slack = parent.uncorrected / 2, parent.weight / 2
            half.P = np.array(
                [np.linalg.inv(G + np.diag(D)) for G, D in zip(half.G, half.Delta, strict=True)]
            )
            half.W = ridge(half.G, half.B, half.Delta, half.W_prior)
            half.D = np.zeros_like(half.W)
            half.unchecked = np.zeros(len(half.G))
            self.correct(half, np.ones(self.d), np.ones(self.K, dtype=bool))
        self.rules[index] = lower
        self.rules.append(upper)
        for half in (lower, upper):
            for rule in self.rules:
                if rule is not half:
                    self.tested[frozenset((rule.uid, half.uid))] = rule.updates + half.updates + 2
        self.splits += 1

    def split_gaussian(self, parent, lower, upper, v):
        """Centers and covariances of the halves; each has the whole prior scatter s S_0."""
        k, s = parent.support / 2, parent.prior_share
        centers, S = half_gaussians(parent.center, parent.joint_covariance(), v)
        # k S holds half of what the parent had of s S_0, and is to hold all of it.
        S = S + s * np.diag(self.S_0) / (2 * k)
        for half, center in zip((lower, upper), centers, strict=True):
            half.center = center
            half.joint_precision = np.linalg.inv(S)
            half.input_precision = np.linalg.inv(S[: self.p, : self.p])
            half.log_det = np.array([log_determinant(S), log_determinant(S[: self.p, : self.p])])

    def split_moments(self, parent, lower, upper, v):
        """G, B and label moments of the halves."""
        moved = np.zeros(self.K)
        for g in range(len(parent.G)):
            columns = slice(None) if len(parent.G) == 1 else slice(g, g + 1)
            halves, moved[columns] = half_sums(parent.G[g], parent.B[:, columns], v)
            for half, (H, b) in zip((lower, upper), halves, strict=True):
                half.G[g], half.B[:, columns] = H, b
        for half, sign in ((lower, -1.0), (upper, 1.0)):
            half.label_weight = parent.label_weight / 2
            half.label_mean = parent.label_mean + sign * moved
            pairs = np.broadcast_to(half.label_weight, (self.K, self.K))
            half.label_cov = parent.label_cov / 2 - pairs * np.outer(moved, moved)

    def antecedent(self, rule):
        """Center, covariance and S_0 in the space in which merging is judged."""
        if self.product_space:
            return rule.center, rule.joint_covariance(), self.S_0
        return rule.center[: self.p], rule.input_covariance(), self.S_0[: self.p]

    def merge(self, low, high, overlap):
        """Put the merged rule at index low and the last rule at index high."""
        one, two = self.rules[low], self.rules[high]
        merged = self.merged_rule(one, two, overlap)
        history = {}
        for rule in self.rules:
            if rule is not one and rule is not two:
                pairs = [frozenset((rule.uid, part.uid)) for part in (one, two)]
                history[frozenset((rule.uid, merged.uid))] = max(
                    self.tested.get(pair, 0) for pair in pairs
                )
        gone = {one.uid, two.uid}
        self.tested = {pair: k for pair, k in self.tested.items() if not pair & gone}
        self.tested.update(history)
        self.rules[low] = merged
        last = self.rules.pop()
        if high < len(self.rules):
            self.rules[high] = last
        self.merges += 1

    def merged_rule(self, one, two, overlap):
        """Exact merge: every statistic of the union of the rows (section 3)."""
        better, worse = (one, two) if one.support >= two.support else (two, one)
        parts = [
            (rule.center, rule.joint_covariance(), rule.support, rule.prior_share)
            for rule in (one, two)
        ]
        center, S, n, share = merge_gaussians(*parts[0], *parts[1], self.S_0)
        support = min(n, self.k_max)
        S_x = S[: self.p, : self.p]
        weight = one.weight + two.weight
        share_one = one.weight / weight if weight > 0.0 else one.support / n
        G, B, Delta = one.G + two.G, one.B + two.B, np.maximum(one.Delta, two.Delta)
        W_prior = share_one * one.W_prior + (1.0 - share_one) * two.W_prior
        if self.merge_consequents == "paper":
            W = merge_weights_paper(better.W, worse.W, better.support, worse.support, overlap)
            D = gradient(G, B, Delta, W, W_prior)
        else:
            W = ridge(G, B, Delta, W_prior)
            D = np.zeros_like(W)
        parts = [(rule.label_weight, rule.label_mean, rule.label_cov) for rule in (one, two)]
        label_weight, label_mean, label_cov = pool_moments(*parts[0], *parts[1])
        merged = Rule(
            center=center,
            joint_precision=np.linalg.inv(S),
            input_precision=np.linalg.inv(S_x),
            log_det=np.array([log_determinant(S), log_determinant(S_x)]),
            support=support,
            updates=one.updates + two.updates + 1,
            prior_share=share * support / n,
            P=np.array(
                [np.linalg.inv(H + np.diag(prior)) for H, prior in zip(G, Delta, strict=True)]
            ),
            G=G,
            B=B,
            Delta=Delta,
            W_prior=W_prior,
            W=W,
            D=D,
            weight=weight,
            **{name: getattr(one, name) + getattr(two, name) for name in ADDED},
            label_weight=label_weight,
            label_mean=label_mean,
            label_cov=label_cov,
            penalty=np.zeros_like(label_cov),
            penalty_top=0.0,
            # The pooled labels ask for a new penalty.
            penalty_slack=weight,
            curvature_direction=one.curvature_direction.copy(),
            unchecked=np.zeros(len(G)),  # P was just derived
            drifting=max(one.drifting, two.drifting),
            stopped=max(one.stopped, two.stopped),
            uid=better.uid,
            born=min(one.born, two.born),
            last_won=max(one.last_won, two.last_won),
        )
        if self.merge_consequents == "exact":
            self.correct(merged, np.ones(self.d), np.ones(self.K, dtype=bool))
        return merged


# Rivals for timing: fixed rules, all labels known


class FixedRules(Learning):
    """Stacked rule arrays, winner update and activations shared by the two timing rivals.

    The set of rules is fixed (no births, no merges) and every label is known.
    """

    def __init__(self, rules, *, p, K, S_0, **values):
        set_parameters(self, p, K, S_0, values)
        for name, value in stack_rules(rules).items():
            value = value[:, 0] if name in (*GROUPED, "label_weight", "label_mean") else value
            setattr(self, name, np.ascontiguousarray(value))

    def quadratic(self, points, precisions):
        """Squared distances from differences (rules, n) and precisions (rules, n, n)."""
        return np.einsum("ci,ci->c", np.matmul(precisions, points[:, :, None])[:, :, 0], points)

    def antecedents(self, x, y):
        """Update the winner and return Psi from the new antecedents."""
        z = np.concatenate((x, y))
        apart = z - self.center
        if self.product_space:
            winner = int(np.argmin(self.quadratic(apart, self.joint_precision)))
        else:
            winner = int(np.argmin(self.quadratic(apart[:, : self.p], self.input_precision)))
        self.update_winner(winner, apart[winner])
        m2 = self.quadratic(x - self.center[:, : self.p], self.input_precision)
        m2 = m2 + self.log_det[:, 1] if self.density else m2
        psi = np.exp((m2.min() - m2) / (2.0 * self.tau))
        return psi / psi.sum()

    def update_winner(self, i, e):
        """Rank-one update of both precisions of rule i, then the variance floor."""
        k = self.support[i]
        a = 1.0 / (k + 1.0)
        pairs = ((self.joint_precision[i], e), (self.input_precision[i], e[: self.p]))
        for space, (precision, part) in enumerate(pairs):
            v = precision @ part
            grown = 1.0 + a * (part @ v)
            precision -= np.multiply.outer(v * (a / grown), v)
            precision /= 1.0 - a
            self.log_det[i, space] += len(part) * np.log1p(-a) + np.log(grown)
        self.center[i] += a * e
        self.support[i] = min(k + 1.0, self.k_max)
        self.prior_share[i] *= self.support[i] / (k + 1.0)
        self.updates[i] += 1
        self.last_won[i] = self.row
        if self.variance_floor > 0.0:
            j = self.updates[i] % self.q
            h = self.variance_floor * self.q * self.S_0[j] / self.support[i]
            for space, (precision, part) in enumerate(pairs):
                if j < len(part):
                    s = precision[j].copy()
                    grown = 1.0 + h * s[j]
                    precision -= np.multiply.outer(s * (h / grown), s)
                    self.log_det[i, space] += np.log(grown)

    def score(self, x):
        """K continuous outputs for one row."""
        m2 = self.quadratic(x - self.center[:, : self.p], self.input_precision)
        m2 = m2 + self.log_det[:, 1] if self.density else m2
        psi = np.exp((m2.min() - m2) / (2.0 * self.tau))
        planes = np.matmul(extend(x), self.W)
        return (psi / psi.sum()) @ planes


def batched_penalty(cov, weight, mode):
    """M and lambda_max(M) of a stack of label co-moments (rules, K, K) and weights (rules,)."""
    K = cov.shape[1]
    variance = np.einsum("ckk->ck", cov) / weight[:, None]
    live = variance >= 1e-12
    scale = np.where(live, 1.0 / np.sqrt(np.where(live, variance, 1.0)), 0.0)
    corr = cov / weight[:, None, None] * scale[:, :, None] * scale[:, None, :]
    np.clip(corr, -1.0, 1.0, out=corr)
    diagonal = np.arange(K)
    if mode == "none":
        return np.zeros_like(corr), np.zeros(len(corr))
    if mode in ("shift", "paper"):
        M = 1.0 - corr
        M[:, diagonal, diagonal] = 0.0
        values = np.linalg.eigvalsh(M)
        if mode == "paper":
            return M, values[:, -1]
        M[:, diagonal, diagonal] = -values[:, :1]
        return M, values[:, -1] - values[:, 0]
    corr[:, diagonal, diagonal] = 0.0
    if mode == "laplacian":
        np.maximum(corr, 0.0, out=corr)
    degree = np.abs(corr).sum(axis=2)
    M = -corr
    M[:, diagonal, diagonal] = degree
    return M, np.linalg.eigvalsh(M)[:, -1]


class BatchedNumpyLearner(FixedRules):
    """Timing rival: the consequents of all active rules at once, in stacked numpy operations."""

    def __init__(self, rules, **parameters):
        super().__init__(rules, **parameters)
        self.square = np.empty_like(self.P)

    def learn_row(self, x, y):
        """Learn one fully labelled row."""
        psi = self.antecedents(x, y)
        r = extend(x)
        active = psi >= self.activation_floor
        # A slice gives views, so that nothing is gathered when every rule is active.
        rows = slice(None) if active.all() else np.flatnonzero(active)
        psi = psi[rows]
        forget = self.forgetting**psi
        self.learn_weights(rows, r, y, psi, forget)
        self.learn_moments(rows, y, psi, forget)
        if not self.idle:
            self.uncorrected[rows] += psi
            due = active & (self.uncorrected >= self.step_interval)
            rows = slice(None) if due.all() else np.flatnonzero(due)
            self.uncorrected[rows] = 0.0
            if due.any():
                self.refresh(rows, r)
                for _ in range(self.n_steps):
                    self.step(rows)
        if self.forgetting != 1.0:
            self.hold_prior()
        self.row += 1

    def scale(self, rows, forget, *names):
        """Multiply arrays by the forgetting factor of each rule."""
        if self.forgetting != 1.0:
            for name in names:
                array = getattr(self, name)
                array[rows] *= forget.reshape(-1, *[1] * (array.ndim - 1))

    def learn_weights(self, rows, r, y, psi, forget):
        """RFWLS of the active rules."""
        buffer = self.square[: len(psi)]
        u = np.matmul(self.P[rows], r)
        gain = psi / (forget + psi * (u @ r))
        error = y - np.matmul(r, self.W[rows])
        self.W[rows] += (gain[:, None] * u)[:, :, None] * error[:, None, :]
        np.multiply((gain[:, None] * u)[:, :, None], u[:, None, :], out=buffer)
        self.P[rows] -= buffer
        self.scale(rows, 1.0 / forget, "P")
        self.scale(rows, forget, "G", "B", "D", "Delta")
        weighted = psi[:, None] * r
        np.multiply(weighted[:, :, None], r, out=buffer)
        self.G[rows] += buffer
        self.B[rows] += weighted[:, :, None] * y

    def hold_prior(self):
        """Give the full prior back to rules that have lost half of it."""
        low = np.flatnonzero((self.Delta < 0.5 * self.prior).any(axis=1))
        if len(low):
            missing = self.prior - self.Delta[low]
            self.D[low] += missing[:, :, None] * (self.W[low] - self.W_prior[low])
            self.Delta[low] = self.prior
            self.P[low] = np.linalg.inv(self.G[low] + np.diag(self.prior))

    def learn_moments(self, rows, y, psi, forget):
        """Weights and label moments of the active rules."""
        self.scale(rows, forget, "weight", "penalty_slack", "label_weight", "label_cov")
        self.weight[rows] += psi
        self.penalty_slack[rows] += psi
        self.label_weight[rows] += psi[:, None]
        before = y - self.label_mean[rows]
        self.label_mean[rows] += psi[:, None] / self.label_weight[rows] * before
        after = y - self.label_mean[rows]
        self.label_cov[rows] += (psi[:, None] * before)[:, :, None] * after[:, None, :]

    def refresh(self, rows, r):
        """Penalties and curvatures that are due."""
        mask = np.zeros(len(self.weight), dtype=bool)
        mask[rows] = True
        mask &= self.stopped == 0
        due = mask & (self.weight >= 1.0) & (self.penalty_slack >= 0.1 * self.weight)
        due = np.flatnonzero(due)
        if len(due):
            self.penalty[due], self.penalty_top[due] = batched_penalty(
                self.label_cov[due], self.weight[due], self.correlation
            )
            self.penalty_slack[due] = 0.0
        moving = slice(None) if mask.all() else np.flatnonzero(mask)
        v = self.curvature_direction[moving]
        v[~v.any(axis=1)] = r / np.linalg.norm(r)
        t = np.matmul(self.G[moving], v[:, :, None])[:, :, 0] + self.Delta[moving] * v
        estimate = np.linalg.norm(t, axis=1)
        self.curvature[moving] = MARGIN * estimate
        self.curvature_direction[moving] = t / estimate[:, None]

    def move(self, rows):
        """Proximal move of some rules and its product with G + Delta."""
        W = self.W[rows]
        lip = self.curvature[rows] + self.beta * self.penalty_top[rows]
        if self.lipschitz == "paper":
            lip = np.sqrt(lip)
        V = self.D[rows].copy()
        if self.beta > 0.0:
            V[:, :-1] += self.beta * np.matmul(W[:, :-1], self.penalty[rows])
        V /= -lip[:, None, None]
        V += W
        if self.alpha > 0.0:
            slopes, cut = V[:, :-1], (self.alpha / lip)[:, None, None]
            slopes -= np.clip(slopes, -cut, cut)
        V -= W
        bent = np.matmul(self.G[rows], V)
        bent += self.Delta[rows][:, :, None] * V
        return V, bent

    def step(self, rows):
        """One proximal step of the active rules that have not been stopped."""
        if self.stopped.any():
            rows = np.arange(len(self.stopped))[rows]
            rows = rows[self.stopped[rows] == 0]
        move, bent = self.move(rows)
        while self.lipschitz == "exact":
            length = np.einsum("cij,cij->c", move, move)
            energy = np.einsum("cij,cij->c", move, bent)
            steep = energy > self.curvature[rows] * length * (1.0 + 1e-12)
            if not steep.any():
                break
            redo = np.arange(len(self.curvature))[rows][steep]
            self.curvature[redo] = MARGIN * energy[steep] / length[steep]
            move[steep], bent[steep] = self.move(redo)
        self.W[rows] += move
        self.D[rows] += bent
        if not max(self.W.max(), -self.W.min()) <= self.weight_limit:
            large = ~(np.abs(self.W).max(axis=(1, 2)) <= self.weight_limit)
            for i in np.flatnonzero(large & (self.stopped == 0)):
                self.stopped[i] = self.row + 1
                self.W[i] = ridge(self.G[i], self.B[i], self.Delta[i], self.W_prior[i])
                self.D[i] = 0.0


class LoopNumpyLearner(FixedRules):
    """Timing rival: a Python loop over the rules with numpy inside, rank-one updates in place."""

    def learn_row(self, x, y):
        """Learn one fully labelled row."""
        psi = self.antecedents(x, y)
        r = extend(x)
        outer, plane = np.outer(r, r), np.outer(r, y)
        for i in np.flatnonzero(psi >= self.activation_floor):
            self.learn_weights(i, r, y, psi[i], outer, plane)
            self.learn_moments(i, y, psi[i])
            self.uncorrected[i] += psi[i] if not self.idle else 0.0
            due = self.uncorrected[i] >= self.step_interval
            if due and not self.idle and not self.stopped[i]:
                self.uncorrected[i] = 0.0
                self.refresh(i, r)
                for _ in range(self.n_steps):
                    self.step(i)
            if self.forgetting != 1.0:
                self.hold_prior(i)
        self.row += 1

    def learn_weights(self, i, r, y, psi, outer, plane):
        """RFWLS of rule i."""
        forget = self.forgetting**psi
        u = self.P[i] @ r
        gain = psi / (forget + psi * (r @ u))
        self.W[i] += np.multiply.outer(gain * u, y - r @ self.W[i])
        self.P[i] -= np.multiply.outer(gain * u, u)
        if self.forgetting != 1.0:
            self.P[i] /= forget
            for array in (self.G, self.B, self.D, self.Delta):
                array[i] *= forget
        self.G[i] += psi * outer
        self.B[i] += psi * plane

    def hold_prior(self, i):
        """Give the full prior back to rule i if it has lost half of it."""
        if (self.Delta[i] < 0.5 * self.prior).any():
            missing = self.prior - self.Delta[i]
            self.D[i] += missing[:, None] * (self.W[i] - self.W_prior[i])
            self.Delta[i] = self.prior
            self.P[i] = np.linalg.inv(self.G[i] + np.diag(self.prior))

    def learn_moments(self, i, y, psi):
        """Weight and label moments of rule i."""
        forget = self.forgetting**psi
        self.weight[i] = forget * self.weight[i] + psi
        self.penalty_slack[i] = forget * self.penalty_slack[i] + psi
        self.label_weight[i] = forget * self.label_weight[i] + psi
        before = y - self.label_mean[i]
        self.label_mean[i] += psi / self.label_weight[i] * before
        self.label_cov[i] *= forget
        self.label_cov[i] += np.multiply.outer(psi * before, y - self.label_mean[i])

    def refresh(self, i, r):
        """Penalty and curvature of rule i, if due."""
        if self.weight[i] >= 1.0 and self.penalty_slack[i] >= 0.1 * self.weight[i]:
            M, top = batched_penalty(
                self.label_cov[i : i + 1], self.weight[i : i + 1], self.correlation
            )
            self.penalty[i], self.penalty_top[i], self.penalty_slack[i] = M[0], top[0], 0.0
        v = self.curvature_direction[i]
        v = v if v.any() else r / np.linalg.norm(r)
        t = self.G[i] @ v + self.Delta[i] * v
        estimate = np.linalg.norm(t)
        self.curvature[i] = MARGIN * estimate
        self.curvature_direction[i] = t / estimate

    def step(self, i):
        """One proximal step of rule i."""
        if self.stopped[i]:
            return
        W, G, Delta = self.W[i], self.G[i], self.Delta[i][:, None]
        slope = self.D[i].copy()
        slope[:-1] += self.beta * (W[:-1] @ self.penalty[i])
        while True:
            lip = self.curvature[i] + self.beta * self.penalty_top[i]
            lip = np.sqrt(lip) if self.lipschitz == "paper" else lip
            move = W - slope / lip
            move[:-1] -= np.clip(move[:-1], -self.alpha / lip, self.alpha / lip)
            move -= W
            bent = G @ move + Delta * move
            length, energy = np.vdot(move, move), np.vdot(move, bent)
            steep = energy > self.curvature[i] * length * (1.0 + 1e-12)
            if self.lipschitz == "paper" or not steep:
                break
            self.curvature[i] = MARGIN * energy / length
        W += move
        self.D[i] += bent
        if not np.abs(W).max() <= self.weight_limit:
            self.stopped[i] = self.row + 1
            self.W[i] = ridge(G, self.B[i], self.Delta[i], self.W_prior[i])
            self.D[i] = 0.0
