"""The rules of a learner as a list that can be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from efcml.explain.background import Background, Named
from efcml.explain.document import Block, as_html, as_text
from efcml.explain.phrases import count, percent
from efcml.explain.rule import Rule
from efcml.explain.trust import Trust

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from efcml.support.aliases import Floats


class RuleList(Named, Sequence[Rule]):
    """Rules by what they decide: a sequence of `Rule` that can be printed and shows in notebooks.

    The background, a rule that covers everything, stands last. ``trust`` says how far the reading
    is what the model does, by the last rows that it has learned; None before there are rules.
    """

    def __init__(
        self, rules: Iterable[Rule], background: Background, trust: Trust | None = None
    ) -> None:
        self._rules = tuple(rules)
        self.background = background
        self.trust = trust

    def __len__(self) -> int:
        return len(self._rules)

    @overload
    def __getitem__(self, index: int) -> Rule: ...

    @overload
    def __getitem__(self, index: slice) -> RuleList: ...

    def __getitem__(self, index: int | slice) -> Rule | RuleList:
        if isinstance(index, slice):
            return RuleList(self._rules[index], self.background, self.trust)
        return self._rules[index]

    @property
    def centers(self) -> Floats:
        """Centers of all rules, in the units of the data (n, p)."""
        return np.reshape([rule.center for rule in self], (-1, len(self.feature_names)))

    @property
    def covariances(self) -> Floats:
        """Covariances of the features in all rules, in the units of the data (n, p, p)."""
        p = len(self.feature_names)
        return np.reshape([rule.covariance for rule in self], (-1, p, p))

    def firing(self, X: ArrayLike) -> Floats:
        """Return how strongly each rule fires at rows in the units of the data (rows, n).

        The rule that fires most decides. That is the density of its Gaussian, up to a factor that
        all rules share; with ``activation="distance"`` volumes do not count.
        """
        usual, land = self.background, self.background.landscape
        if land is None:
            return np.zeros((len(np.asarray(X)), 0))
        places = [rule.place for rule in self]
        scaled = (np.asarray(X, dtype=float) - usual.offset) / usual.unit
        gaps: Any = scaled[:, None] - land.centers[places]
        distances = np.einsum("nri,rij,nrj->nr", gaps, land.precisions[places], gaps)
        return np.exp(-0.5 * (distances + land.log_volumes[places]))

    def telling(self, most: int = 6) -> list[int]:
        """Return the columns that the rules name in their IF parts, those that decide most first.

        A column counts by what the rules decide that name it, the first terms more than later ones.
        """
        places = {thing.name: thing.columns for thing in self.background.columns.variables}
        counts = np.zeros(len(self.feature_names))
        for rule in self:
            for place, term in enumerate(rule.terms):
                for column in places[term.feature]:
                    counts[column] += (rule.decides + 1e-9) / (1.0 + place)
        order = np.argsort(-counts, kind="stable")[:most]
        return [int(column) for column in order if counts[column] > 0.0]

    def memberships(self, most: int = 6) -> dict[str, Any]:
        """Return what `efcml.plots.draw_memberships` draws, by the names of its arguments.

        At most so many features: those of `telling`.
        """
        columns, n = self.telling(most), len(self)
        flags = self.background.columns.flags[columns]
        shares = np.reshape([np.clip(rule.mean[columns], 0.0, 1.0) for rule in self], (n, -1))
        return {
            "shares": np.where(flags, shares, np.nan),
            "positions": np.reshape([rule.position[0][columns] for rule in self], (n, -1)),
            "widths": np.reshape([rule.position[1][columns] for rule in self], (n, -1)),
            "feature_names": [self.feature_names[column] for column in columns],
            "rule_names": [f"rule {rule.uid}" for rule in self],
        }

    def importance(self) -> Floats:
        """Return how much each feature moves each label (p, K): mean size of `Rule.effects`.

        Rules count by their share of the activation.
        """
        total = sum(rule.share for rule in self)
        weighted = np.zeros((len(self.feature_names), len(self.label_names)))
        for rule in self:
            weighted += rule.share * np.abs(rule.effects.T)
        return weighted / total if total else weighted

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame with what the sentences say, one line per rule.

        At the end stands the share of every label in the rows that the rule decided of late.
        """
        import pandas

        names = ("uid", "born", "decides", "weight", "support", "antecedent", "consequent")
        facts = {name: [getattr(rule, name) for rule in self] for name in names}
        shares = np.reshape([rule.label_shares for rule in self], (-1, len(self.label_names)))
        labels = pandas.DataFrame(shares, columns=list(self.label_names))
        return pandas.concat([pandas.DataFrame(facts), labels], axis=1)

    @property
    def title(self) -> str:
        """What the list holds, in one line."""
        rows, n_rules = self.background.rows, self.background.n_rules
        if n_rules == 0:
            similar = self.background.similar
            besides = f", and similar ones among them by {percent(similar)}" if similar else ""
            return f"no rules yet: label frequencies of {count(rows, 'row')} answer{besides}"
        part = "" if len(self) == n_rules else f"{len(self)} of "
        return f"{part}{count(n_rules, 'rule')} after {count(rows, 'row')}"

    def blocks(self) -> list[Block]:
        """Return the rules as they are read, with how far to trust them."""
        widest = max((rule.decides for rule in self), default=0.0)
        trust = [] if self.trust is None else [self.trust.block]
        out = self.background.left_out_words
        head = Block(self.title, [(1, out)] if out else [])
        return [head, *(rule.block(widest) for rule in self), *trust]

    def __str__(self) -> str:
        return as_text(self.blocks())

    def __repr__(self) -> str:
        sizes = f"{len(self.feature_names)} features, {len(self.label_names)} labels"
        return f"RuleList({len(self)} rules, {sizes})"

    def to_html(self, most: int | None = None) -> str:
        """Return all rules, or the first ``most``, as HTML."""
        return as_html(self[:most].blocks())

    def _repr_html_(self) -> str:
        return self.to_html()
