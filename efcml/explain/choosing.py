"""What is worth saying of a rule: which rows it decides, and what moves its labels."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from efcml.support.aliases import Bools, Floats, Ints

LEAVES = 16  # of the tree that tells winners apart
LEAST_LEAF = 5  # rows
MOST_ALTERNATIVES = 3
MOST_CONDITIONS = 4  # of an alternative
PLAINER = 0.01  # of the agreement, that a shorter text may cost
LEAST_AGREEMENT = 0.5  # a text that agrees less with what its rule decides is not worth saying
MOST_DIGITS = 15
NOTHING = 1e-12  # of the variance; less is rounding
ENOUGH_KEPT = 0.98  # of the variance; further features would make the reading longer, not truer


class Condition(NamedTuple):
    """What one column must be, in the units of the data; a missing value (NaN) does not fit."""

    column: int
    above: bool  # or up to
    bound: float

    def fits(self, rows: Floats) -> Bools:
        """Return which rows (n, p) are so."""
        values = rows[:, self.column]
        return values > self.bound if self.above else values <= self.bound


class Text(NamedTuple):
    """Alternatives of conditions that say which rows a rule decides; none if nothing does."""

    alternatives: tuple[tuple[Condition, ...], ...] = ()
    fitting: float = 0.0  # share of the rule's rows of late that fit
    decided: float = 0.0  # share of the fitting rows of late that the rule decides

    @property
    def agreement(self) -> float:
        """Harmonic mean of both shares."""
        return 2.0 * self.fitting * self.decided / ((self.fitting + self.decided) or 1.0)

    @property
    def long(self) -> bool:
        """Whether some alternative has too many conditions."""
        return any(len({c.column for c in some}) > MOST_CONDITIONS for some in self.alternatives)

    def fits(self, rows: Floats) -> Bools:
        """Return which rows (n, p) fit an alternative."""
        fit = np.zeros(len(rows), dtype=bool)
        for conditions in self.alternatives:
            fit |= np.all([condition.fits(rows) for condition in conditions], axis=0)
        return fit

    def shorter(self) -> Iterator[tuple[tuple[Condition, ...], ...]]:
        """Return all alternatives but one, or but one condition of one."""
        for i, some in enumerate(self.alternatives):
            before, after = self.alternatives[:i], self.alternatives[i + 1 :]
            if before or after:
                yield before + after
            if len(some) > 1:
                for k in range(len(some)):
                    yield (*before, some[:k] + some[k + 1 :], *after)


@dataclass(frozen=True, eq=False)
class Partition:
    """The last rows and the rules that decide them, in the order of the learner's arrays.

    A small tree tells the winners apart. A rule is said by those of its leaves, at most three, that
    agree best with the rows that it decides, in as few conditions as say nearly the same.
    """

    rows: Floats  # (n, p), in the units of the data, NaN where a value is missing
    filled: Floats  # (n, p), with what rules expect there
    winners: Ints  # (n,)
    n_rules: int
    columns: Ints  # those that conditions may be about
    groups: Sequence[Sequence[int]]  # columns of 0 and 1 of which at most one is 1

    @cached_property
    def texts(self) -> list[Text]:
        """The text of every rule."""
        from sklearn.tree import DecisionTreeClassifier  # not above: only reading needs it

        ranks = rankdata(self.filled[:, self.columns], axis=0)  # a tree has 32 bits
        size = {"max_leaf_nodes": LEAVES, "min_samples_leaf": LEAST_LEAF}
        tree = DecisionTreeClassifier(random_state=0, **size).fit(ranks, self.winners)
        steps = tree.decision_path(ranks).astype(bool).toarray().T
        leaves = list(self._leaves(tree.tree_, steps, 0, {}))
        return [self._text(self.winners == rule, leaves) for rule in range(self.n_rules)]

    def _leaves(
        self, tree: Any, steps: Bools, node: int, path: dict[tuple[int, bool], Condition]
    ) -> Iterator[tuple[Condition, ...]]:
        """Return the conditions of each leaf below a node, of each column the closest bounds."""
        left, right = tree.children_left[node], tree.children_right[node]
        if left == right:
            if path:
                yield tuple(self._one_left(path).values())
            return
        column = int(self.columns[tree.feature[node]])
        values = self.filled[:, column]
        bound = plain_number(values[steps[left]].max(), values[steps[right]].min())
        for child, above in ((left, False), (right, True)):
            here = {(column, above): Condition(column, above, bound)}
            yield from self._leaves(tree, steps, child, path | here)

    def _one_left(self, path: dict[tuple[int, bool], Condition]) -> dict[Any, Condition]:
        """Return conditions that say the one value that is left instead of all that are not."""
        for group in self.groups:
            out = {(column, False) for column in group} & path.keys()
            left = [column for column in group if (column, False) not in out]
            if len(left) == 1 and (self.filled[:, group].sum(axis=1) == 1.0).all():
                rest = {key: one for key, one in path.items() if key not in out}
                path = {(left[0], True): Condition(left[0], True, 0.0)} | rest
        return path

    def _text(self, own: Bools, leaves: list[tuple[Condition, ...]]) -> Text:
        """Return what agrees best with some rows."""
        best = Text()
        for _ in range(MOST_ALTERNATIVES):
            tried = [self._measure((*best.alternatives, leaf), own) for leaf in leaves]
            better = max(tried, key=lambda text: text.agreement, default=best)
            if better.agreement <= best.agreement + PLAINER:
                break
            best = better
        least = best.agreement - PLAINER
        while tried := [self._measure(some, own) for some in best.shorter()]:
            better = max(tried, key=lambda text: text.agreement)
            if better.agreement < min(least, best.agreement) and not best.long:
                break
            best = better
        return best if best.agreement >= LEAST_AGREEMENT else Text()

    def _measure(self, alternatives: tuple[tuple[Condition, ...], ...], own: Bools) -> Text:
        fit = Text(alternatives).fits(self.rows)
        both = float((fit & own).sum())
        return Text(alternatives, both / max(own.sum(), 1), both / max(fit.sum(), 1))


def plain_number(low: float, high: float) -> float:
    """Return a number from ``low`` to below ``high`` with few digits, near the middle."""
    middle = 0.5 * (low + high)
    for digits in range(-MOST_DIGITS, MOST_DIGITS + 1):
        if abs(middle) * 10.0**digits > 10.0**MOST_DIGITS:
            break
        number = round(math.floor(middle * 10.0**digits) / 10.0**digits, digits)
        if low <= number < high:
            return number
    return float(low)


def thin_out(slopes: Floats, covariance: Floats, allowed: Bools, most: int) -> Floats:
    """Return planes over at most ``most`` features, the best that can be said with so few.

    Features are taken one by one, each the one that explains most of what is left of the answers
    ``slopes @ x``, for rows x of this covariance. What the features that are left out say along
    with those that are kept is part of their new slopes.
    """
    cross, left = slopes @ covariance, covariance.copy()
    total, gained = float((cross * slopes).sum()), 0.0
    thin, chosen = np.zeros_like(slopes), list[int]()
    while len(chosen) < min(most, len(left)) and gained < ENOUGH_KEPT * total:
        variances = np.diagonal(left)
        gains = (cross**2).sum(axis=0) / np.where(variances > NOTHING, variances, np.inf)
        gains[~allowed] = gains[chosen] = 0.0
        best = int(gains.argmax())
        if gains[best] <= NOTHING * total:
            break
        chosen.append(best)
        gained += float(gains[best])
        step = left[best] / left[best, best]
        cross, left = cross - np.outer(cross[:, best], step), left - np.outer(left[best], step)
    inverse = np.linalg.pinv(covariance[np.ix_(chosen, chosen)], hermitian=True)
    thin[:, chosen] = slopes @ covariance[:, chosen] @ inverse
    return thin
