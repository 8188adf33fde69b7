"""The whole method, slow and obvious: batch by least squares with extra rows, streams row by row.

twin = NaiveLearner(params, p, K).fit(X, Y)
scores, decisions, probabilities = twin.learn(X_new, Y_new)
"""

import numpy as np

from naive.rules import NaiveRules, penalty_of, precision
from naive.stages import NaiveCases, NaiveLabels, NaiveTemporal, folds_out

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)


def ridge(X, y, w, strength, towards):
    """Weighted least squares by lstsq; the prior is as many extra rows as there are unknowns."""
    known = ~np.isnan(y) & (w > 0.0)
    R = np.column_stack([X, np.ones(len(X))])[known]
    root, prior = np.sqrt(w[known]), np.sqrt(precision(strength, X.shape[1]))
    rows = np.vstack([root[:, None] * R, np.diag(prior)])
    return np.linalg.lstsq(rows, np.append(root * y[known], prior * towards), rcond=None)[0]


def flat(y, w):
    """The mean of a label, as an intercept."""
    known = ~np.isnan(y)
    return (w[known] @ y[known]) / max(w[known].sum(), 1e-300)


def base_planes(X, Y, w, shared):
    """What rules are held to: flat planes at the label means, or one plane for all rows."""
    planes = np.zeros((Y.shape[1], X.shape[1] + 1))
    for c, y in enumerate(Y.T):
        planes[c, -1] = flat(y, w)
        if shared is not None:
            planes[c] = ridge(X, y, w, shared, planes[c])
    return planes


def rule_planes(X, Y, w, strength, base):
    return np.array([ridge(X, y, w, strength, W_0) for y, W_0 in zip(Y.T, base, strict=True)])


def objective(memory, W, penalty, alpha, beta):
    """J(W) up to a constant, from the sums of a memory."""
    slopes = W[:, :-1]
    total = alpha * np.abs(slopes).sum() + 0.5 * beta * np.trace(slopes.T @ penalty @ slopes)
    for c in range(len(W)):
        gap = W[c] - memory.W_0[c]
        total += 0.5 * W[c] @ memory.G @ W[c] - W[c] @ memory.B[c]
        total += 0.5 * gap @ (memory.Delta * gap)
    return total


def minimise(memory, penalty, alpha, beta, steps=200_000):
    """The planes with the least J: plain proximal steps until nothing moves."""
    for _ in range(steps):
        before = memory.W
        memory.step(np.full(len(before), True), penalty, alpha, beta, True)
        if np.abs(memory.W - before).max() < 1e-15:
            break
    return memory.W


class NaiveLearner:
    """Scale, rules, cases, recent cases, time, labels; the scale stays what the batch shows."""

    def __init__(self, params, p, K):
        self.params, self.p, self.K, self.unit = params, p, K, 1.0

    def scale(self, X):
        return np.clip((X - self.mean) / self.deviation, -self.params.clip, self.params.clip)

    # Batch

    def fit(self, X, Y, weights=None):
        w = np.ones(len(X)) if weights is None else weights
        some = ~np.isnan(Y).all(axis=1)
        self.unit = np.median(w[some])
        X, Y, w = X[some], Y[some], w[some] / self.unit
        self.mean, self.deviation = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
        rows = self.scale(X)
        if np.isnan(rows).any():
            rows = self.fill_batch(rows, Y, w)
        scores = self.fit_rules(rows, Y, w)
        w = np.minimum(w, 3.0)
        params, self.cases, self.time = self.params, [], None
        if params.cases:
            self.cases = [NaiveCases(self.p, self.K, params.cases)]
            if params.forgetting == "auto":
                self.cases.append(NaiveCases(self.p, self.K, 25, recent=True))
        for cases in self.cases:
            scores = cases.begin(rows, scores, Y, w)
        if params.time:
            self.time = NaiveTemporal(self.K)
            scores = self.time.begin(scores, Y, w)
        self.labels = NaiveLabels(self.K, params.decision)
        self.labels.begin(scores, Y, w)
        return self

    def start_variances(self, rows):
        spread = np.ptp(rows, axis=0) * rows.std(axis=0)
        own = np.append(np.where(spread > 1e-6, spread, 1.0), np.full(self.K, 0.5))
        return self.params.birth_width * own

    def form(self, rows, Y, w, S_0, share, prior=(1.0, None)):
        """Rules of one pass, without planes."""
        rules = NaiveRules(self.params, self.p, self.K, S_0, prior, share)
        for x, y, weight in zip(rows, Y, w, strict=True):
            rules.learn(x, y, weight, with_planes=False)
        return rules

    def fill_batch(self, rows, Y, w):
        whole = np.nan_to_num(rows)
        S_0 = self.start_variances(whole)
        for _ in range(2):
            rules = self.form(whole, Y, w, S_0, 0.3)
            whole = np.array([rules.fill(x) for x in rows])
        return whole

    def activations(self, rules, rows, floor=True):
        psi = np.array([rules.activations(x) for x in rows])
        return np.where(psi < self.params.activation_floor, 0.0, psi) if floor else psi

    def fit_rules(self, rows, Y, w):
        params, S_0 = self.params, self.start_variances(rows)
        strength, shared, share = self.choose_prior(rows, Y, w, S_0)
        self.rules = rules = self.form(rows, Y, w, S_0, share, (strength, shared))
        psi = self.activations(rules, rows) * w[:, None]
        base = base_planes(rows, Y, psi.sum(axis=1), shared)
        R, known = np.column_stack([rows, np.ones(len(rows))]), ~np.isnan(Y)
        ones = np.where(known, Y, 0.0)
        for i, rule in enumerate(rules.rules):
            v = psi[:, i]
            W = rule_planes(rows, Y, v, strength, base)
            rule.weight = rule.use = v.sum()
            rule.labels = np.stack(
                [(v * a.T) @ b for a, b in ((known, known), (ones, known), (ones, ones))]
            )
            for memory in rule.memories:
                memory.W, memory.W_0, memory.seen = W.copy(), base.copy(), v @ known
                memory.G = (R.T * v) @ R
                memory.B = np.where(known, Y, R @ W.T).T @ (v[:, None] * R)
            if rules.corrects:
                if rules.correlates and rule.weight >= 1.0:
                    rule.penalty = penalty_of(rule.labels, params.correlation)
                minimise(rule.memories[0], rule.penalty, params.alpha, params.beta)
        rules.events = []
        if shared is not None:
            rules.set_renewal()
        return self.held_out(rows, Y, psi, strength, shared)

    def held_out(self, rows, Y, psi, strength, shared):
        scores, fires = np.zeros(Y.shape), self.activations(self.rules, rows, floor=False)
        for out, rest in folds_out(len(rows)):
            base = base_planes(rows[rest], Y[rest], psi[rest].sum(axis=1), shared)
            for i in range(psi.shape[1]):
                W = rule_planes(rows[rest], Y[rest], psi[rest, i], strength, base)
                R = np.column_stack([rows[out], np.ones(len(out))])
                scores[out] += fires[out, i, None] * (R @ W.T)
        return scores

    def choose_prior(self, rows, Y, w, S_0):
        """Strength, strength of shared planes or None, share of a split: by cross-validation."""
        p = self.params
        shares = (0.2, 0.3) if p.split_share == "auto" else (p.split_share,)
        shares = (1.0,) if p.splitting == "off" else shares
        if p.prior != "auto" and len(shares) == 1:
            return p.prior, None, shares[-1]
        n, kinds = len(rows), []
        count = min(5, n // 2)
        edges = [fold * n // count for fold in range(count + 1)]
        kinds.append([np.arange(*edge) for edge in zip(edges[:-1], edges[1:], strict=True)])
        if is_sorted(Y, kinds[0]):
            kinds.append([np.arange(fold, n, count) for fold in range(count)])
        one = sum(np.log(self.loss_of_one(rows, Y, w, folds)) for folds in kinds)
        shared = STRENGTHS[int(np.argmin(one))]
        for share in shares:
            losses = sum(
                np.log(self.loss_of_rules(rows, Y, w, S_0, share, shared, folds)) for folds in kinds
            )
            if losses.min() < len(kinds) * np.log(0.97) + one.min():
                break
        if p.prior != "auto":
            return p.prior, None, share
        base, best = np.unravel_index(np.argmin(losses), losses.shape)
        return STRENGTHS[best], shared if base else None, share

    def loss_of_one(self, rows, Y, w, folds):
        losses = np.zeros(len(STRENGTHS))
        for out in folds:
            rest, R = (
                np.delete(np.arange(len(rows)), out),
                np.insert(rows[out], self.p, 1.0, axis=1),
            )
            for s, strength in enumerate(STRENGTHS):
                W = base_planes(rows[rest], Y[rest], w[rest], strength)
                losses[s] += np.nansum((R @ W.T - Y[out]) ** 2)
        return losses

    def loss_of_rules(self, rows, Y, w, S_0, share, shared, folds):
        losses = np.zeros((2, len(STRENGTHS)))
        for number, out in enumerate(folds):
            rest, R = (
                np.delete(np.arange(len(rows)), out),
                np.insert(rows[out], self.p, 1.0, axis=1),
            )
            taught = np.sort(np.concatenate(folds[1 - number % 2 :: 2]))
            rules = self.form(rows[taught], Y[taught], w[taught], S_0, share)
            psi = self.activations(rules, rows[rest]) * w[rest][:, None]
            fires = self.activations(rules, rows[out])
            for b, held in enumerate((None, shared)):
                base = base_planes(rows[rest], Y[rest], w[rest], held)
                for s, strength in enumerate(STRENGTHS):
                    scores = np.zeros((len(out), self.K))
                    for i in range(psi.shape[1]):
                        W = rule_planes(rows[rest], Y[rest], psi[:, i], strength, base)
                        scores += fires[:, i, None] * (R @ W.T)
                    losses[b, s] += np.nansum((scores - Y[out]) ** 2)
        return losses

    # Stream

    def learn(self, X, Y, weights=None):
        """Scores, decisions and probabilities of rows, each before it is learned."""
        w = np.ones(len(X)) if weights is None else weights / self.unit
        found = [self.learn_row(x, y, v) for x, y, v in zip(self.scale(X), Y, w, strict=True)]
        return tuple(np.array(part) for part in zip(*found, strict=True))

    def learn_row(self, x, y, weight):
        x = self.rules.fill(x)
        score, kept = self.rules.learn(x, y, weight)
        weight = min(weight, 3.0)
        for cases in self.cases:
            score, before = cases.answer(x, score), score
            cases.learn(x, before, y, weight, kept)
        if self.time is not None:
            score = self.time.learn(score, y, weight)
        said = score, self.labels.decide(score), self.labels.probabilities(score)
        self.labels.learn(score, y, kept, weight)
        return said


def is_sorted(Y, folds):
    """Whether label means of the folds differ by more than three times their chance variance."""
    ratios = []
    for y in Y.T:
        y = np.where(np.isnan(y), np.nan, y)
        mean = np.nanmean(y) if not np.isnan(y).all() else 0.0
        if 0.0 < mean < 1.0:
            between = sum(
                np.nansum(y[fold] - mean) ** 2 / max((~np.isnan(y[fold])).sum(), 1)
                for fold in folds
            )
            ratios.append(between / (mean * (1.0 - mean)))
    return bool(ratios) and np.mean(ratios) / (len(folds) - 1) > 3.0
