"""Reading a learner whose rows are projected: by its strongest features, and the rest as one thing.

A scaled projected row is ``z = (x Q - m) / s``. For some features F it is ``u T + r``: u are their
scaled values, ``T = scale_F Q_F / s``, and r, the rest, comes from all other features. So planes
and Gaussians over z are exactly planes and Gaussians over [u, r], and all that is made for reading
features reads these.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from efcml.explain.background import ColumnKinds, Group, find_flags, name_all
from efcml.support.masks import densify

if TYPE_CHECKING:
    from efcml.model.learner import Learner
    from efcml.support.aliases import Floats, Names

MOST = 25  # features that move labels most, that tell rules apart, and of an explained row
REST = "all other features"
HELD = 10.0  # rows by which the covariance of a rule is held to that of all
TINY = 1e-6


def open_up(learner: Any, x: Any = None) -> Any:
    """Return a learner as it is read, given a row ``x`` that is to be explained."""
    return Reading(learner, x) if learner.projection is not None else learner


class Reading:
    """A learner over its strongest features and the rest; what is not here is the learner's own."""

    def __init__(self, learner: Learner, x: Any = None) -> None:
        from efcml.model.projection import RECENT, last  # not above: it loads numba

        projection: Any = learner.projection
        self.learner = learner
        rows, labels, _ = last(learner.last, RECENT)
        means, rows = np.zeros(learner.n_features), csr_array(rows, copy=True)
        means[projection.columns] = projection.usual
        rows.data = np.where(np.isnan(rows.data), means[rows.indices], rows.data)
        Z, basis = learner.fill(learner.scaled(rows)), projection.basis / learner.scaler.scale
        usual = np.asarray(rows.mean(axis=0)).reshape(-1)[projection.columns]
        squares = np.asarray((rows * rows).mean(axis=0)).reshape(-1)[projection.columns]
        spread = np.sqrt(np.nan_to_num(np.maximum(squares - usual**2, 0.0)))
        shares = learner.rules.weight / (learner.rules.weight.sum() or 1.0)
        planes, (centers, _, precisions) = learner.rules.planes, learner.rules.whole_gaussians()
        pulls = np.einsum("rij,rj->ri", precisions, centers - shares @ centers)
        moves = np.einsum("r,rki,rkj->ij", shares, planes[..., :-1], planes[..., :-1])
        parts = np.einsum("r,ri,rj->ij", shares, pulls, pulls)
        moving, apart = (((basis @ M) * basis).sum(axis=1) for M in (moves, parts))
        strengths = [moving * spread**2, apart * spread**2]
        if x is not None:
            row = densify(x)[0][projection.columns]
            strengths.append(moving * np.where(row == 0.0, 0.0, np.nan_to_num(row - usual)) ** 2)
        places = np.unique([np.argsort(-each, kind="stable")[:MOST] for each in strengths])
        self.features = projection.columns[places]
        self.n_named, self.n_features = len(places), len(places) + projection.width
        values = densify(rows[:, self.features])
        self.flags = find_flags(values)
        deviation = np.nan_to_num(np.nanstd(values, axis=0))
        scale = np.where(deviation > TINY, deviation, 1.0)
        more = projection.width
        self.usual = projection.usual[places]
        self.scaler = SimpleNamespace(
            mean=np.append(np.nan_to_num(np.nanmean(values, axis=0)), np.zeros(more)),
            scale=np.append(scale, np.ones(more)),
            clip=np.inf,
        )
        self.T = np.vstack([scale[:, None] * basis[places], np.eye(more)])
        self.latest = self._split(rows, Z), labels, np.ones(len(labels))
        self.rules = ReadRules(self, centers, precisions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.learner, name)

    def _split(self, X: Any, Z: Floats) -> Floats:
        values, n = densify(X[:, self.features]), self.n_named
        values = np.where(np.isnan(values), self.usual, values)
        u = (values - self.scaler.mean[:n]) / self.scaler.scale[:n]
        return np.hstack([u, Z - u @ self.T[:n]])

    def scaled(self, X: Any) -> Floats:
        """Return rows by their strongest features and the rest, scaled."""
        return self._split(X, self.learner.fill(self.learner.scaled(X)))

    def shown(self, X: Any) -> Floats:
        """Return the same in the units of the data, NaN where a value is missing."""
        values = self.scaled(X) * self.scaler.scale + self.scaler.mean
        values[:, : self.n_named] = densify(X[:, self.features])
        return values

    def fill(self, rows: Floats) -> Floats:
        """Return rows as they are: nothing is missing."""
        return rows

    def score_scaled(self, rows: Floats) -> Floats:
        """Return the scores of scaled rows."""
        return self.learner.score_scaled(rows @ self.T)

    def columns(self, given: ColumnKinds | None, names: Names) -> ColumnKinds:
        """Return names and kinds of the features that are read."""
        names = name_all(names, "x", self.learner.n_features) if given is None else given.names
        n, p = self.n_named, self.n_features
        parts = tuple(f"{REST}, part {i}" for i in range(1, p - n))
        rest = Group(REST, tuple(range(n, p)), (REST, *parts), "rest")
        flags = np.append(self.flags, np.zeros(p - n, bool))
        return ColumnKinds((*(names[j] for j in self.features), REST, *parts), flags, (rest,))

    def gather(self, contributions: Floats) -> Floats:
        """Return contributions (..., p) of which those of the rest are one."""
        n = self.n_named
        contributions[..., n] = contributions[..., n:].sum(axis=-1)
        contributions[..., n + 1 :] = 0.0
        return contributions


class ReadRules:
    """The rules of a learner over the features that are read."""

    def __init__(self, reading: Reading, centers: Floats, precisions: Floats) -> None:
        self.reading, self.own, T = reading, reading.learner.rules, reading.T
        self.features = SimpleNamespace(numbers=np.arange(reading.n_named))
        rows, n = reading.latest[0], reading.n_named
        winners = self.activations(rows).argmax(axis=1)
        whole = np.cov(rows.T, bias=True) + TINY * np.eye(rows.shape[1])
        middle, spread = [], []
        for r, center in enumerate(centers):
            mine = rows[winners == r]
            u = mine[:, :n].mean(axis=0) if len(mine) else np.zeros(n)
            middle.append(np.append(u, center - u @ T[:n]))
            gaps = mine - mine.mean(axis=0) if len(mine) else mine
            spread.append((gaps.T @ gaps + HELD * whole) / (len(mine) + HELD))
        self._gaussians = np.array(middle), np.array(spread), T @ precisions @ T.T

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    def activations(self, rows: Floats) -> Floats:
        """Return Psi (n, rules)."""
        return self.own.activations(rows @ self.reading.T)

    def whole_gaussians(self) -> tuple[Floats, Floats, Floats]:
        """Return centers, covariances and precisions over what is read."""
        return self._gaussians

    def whole_planes(self) -> Floats:
        """Return the planes over what is read."""
        planes = self.own.planes
        return np.concatenate([planes[..., :-1] @ self.reading.T.T, planes[..., -1:]], axis=-1)
