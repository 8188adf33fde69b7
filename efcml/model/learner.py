"""Learner: the whole method on trusted arrays.

Float64, C order, labels 0/1 with NaN for unknown: nothing is validated here. The scikit-learn face
checks its input and then calls this class; streams, evaluation and adapters call it directly.

    projection -> scale -> rules -> cases -> recent cases -> temporal -> one's own -> labels

Rules come first; each stage sees of a row only what the stages before answered there.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from efcml import seams
from efcml._jit import compile_apart
from efcml.kernels.rows import MOST_WEIGHT
from efcml.model import projection as wide
from efcml.model.cases import CaseStage, RecentStage
from efcml.model.challenger import look_back, rows_to_look
from efcml.model.labels import Answer, LabelLayer, plain_answer
from efcml.model.learner_checks import (
    FACTS,
    GAPS,
    check_arrays,
    check_beside,
    check_facts,
    check_watch,
    plain_parameters,
)
from efcml.model.params import DivergenceWarning, Params, has_own_functions
from efcml.model.projection import Projection
from efcml.model.relevance import FeatureChoice
from efcml.model.rescaling import only_grow
from efcml.model.rulebase import RuleBase
from efcml.model.scaler import Scaler
from efcml.model.temporal import TemporalStage
from efcml.model.trace import UNHEARD, Trace, learn_in_blocks
from efcml.model.warm_start import WarmStart
from efcml.model.watch import DOUBT, DUE, LAWFUL, PASSED, WAIT, Watch
from efcml.support import checks
from efcml.support.aliases import Arrays, Facts, Floats, Ints, State
from efcml.support.guard import (
    Guarded,
    changed_otherwise,
    one_at_a_time,
    one_blas_thread,
    whole_or_not_at_all,
)
from efcml.support.masks import densify, known_rows, writeable
from efcml.support.states import check_all, check_numbers, fitting, nest, pick

# Weight of a row in all that its errors teach. Rules learn from it in full: if the same row came
# so often, its later errors would be small.
MOST_OF_AN_ERROR = 3.0
EARLY = 50  # rows of a warm-up to which a learner is fitted for the first time
LAST_ROWS = 1000  # that are remembered, for a challenger
LOOK, BY_FEATURE = 600, 4  # rows before a look at features, at least; for each feature
FARTHEST_SCORE = -0.5, 1.5
NAMES = {RuleBase: "rules", CaseStage: "cases", RecentStage: "recent", TemporalStage: "temporal"}


class Learner(Guarded):
    """One evolving rule base and what follows it: ``fit``, ``learn`` a stream, ``score`` rows."""

    def __init__(
        self, params: Params, n_features: int, n_labels: int, *, layered: bool = True
    ) -> None:
        compile_apart()
        self.params, self.n_features, self.n_labels = params, n_features, n_labels
        self.layered = layered  # whether errors teach of the labels
        self.calls_others = has_own_functions(params)
        self.projection: Projection | None = None  # if features are many, once there is one
        self.bounded = False  # whether the rules leave out what grows with pairs of labels
        # The last rows with a known label as they came, their labels and weights, in parts.
        self.last: list[Any] = []
        self.window = LAST_ROWS  # how many
        self.scaler: Any = None
        self.stages: list[Any] = []
        self.labels: LabelLayer | None = None
        # A challenger, or in a doubt about the scale the learner as it was before.
        self.other: Learner | None = None
        self.late = 0, False
        self.unit = 1.0  # the usual weight of a row of the batch, which counts as one row
        self.held: list[tuple[Any, Floats]] = []  # first rows; sparse if features are many
        self.early = False  # whether it is fitted to fewer rows than the warm-up has
        self.warned = False
        self._choose_among()
        self.watch = Watch(self.width)

    # -- parts ------------------------------------------------------------------------------

    @property
    def fitted(self) -> bool:
        """Whether rules exist; before, the rows that are held answer."""
        return bool(self.stages)

    @property
    def directions(self) -> int:
        """Onto how many directions rows are to be projected; 0: they are not."""
        if self.scaler is not None and self.projection is None:  # the initial rows were dense
            return 0
        return wide.directions(self.params.projection, self.n_features, self.n_labels)

    @property
    def width(self) -> int:
        """Number of features that the stages see."""
        if self.projection is not None:
            return self.projection.width
        return 1 if self.directions else self.n_features

    @property
    def feature_relevance(self) -> Floats:
        """What every feature tells of the labels (p,)."""
        if self.projection is not None:
            return self.projection.relevance(self.n_features)
        return np.ones(self.n_features) if self.directions else self.relevance.relevance

    @property
    def rules(self) -> RuleBase:
        """The first stage."""
        return self.stages[0]

    def stage(self, kind: type) -> Any:
        """Return the first stage of a kind, or None."""
        return next((stage for stage in self.stages if type(stage) is kind), None)

    @property
    def n_rules(self) -> int:
        """Number of rules now."""
        return self.rules.n_rules if self.fitted else 0

    @property
    def rows_seen(self) -> int:
        """Number of learned rows; those without any known label do not count."""
        return self.rules.rows_seen if self.fitted else 0

    @property
    def held_sums(self) -> Floats:
        """Sums of the labels of the rows that are held, and how often each is known (2, K)."""
        labels = np.array([y for _, y in self.held]).reshape(-1, self.n_labels)
        return np.array([np.nansum(labels, axis=0), (~np.isnan(labels)).sum(axis=0)])

    @property
    def frequencies(self) -> Floats:
        """Label frequencies of the rows that are held."""
        ones, known = self.held_sums
        return ones / np.maximum(known, 1.0)

    @property
    def warming_up(self) -> bool:
        """Whether first rows are held: until they are complete there may be more features."""
        return self.early or not self.fitted

    @property
    def shared(self) -> bool:
        """Whether rules and similar rows answer, half and half, as long as the warm-up lasts."""
        return self.early and not self.directions

    @property
    def warm_start(self) -> WarmStart:
        """How the rows that are held answer; of sparse ones, similar rows have no say."""
        return WarmStart([] if self.directions else self.held, self.params.clip)

    @property
    def latest(self) -> tuple[Floats, Floats, Floats]:
        """The last rows with a known label, scaled, their labels and their weights."""
        return self.scaled_last(wide.RECENT)

    def scaled_last(self, count: int) -> tuple[Floats, Floats, Floats]:
        """Return so many of these rows."""
        X, Y, weights = wide.last(self.last, count)
        return self.scaled(X), Y, weights

    def take_features(self, n_features: int) -> None:
        """Change the number of features, as long as the warm-up lasts: its rows are held again."""
        changed_otherwise(self)
        self.n_features, self.stages, self.last = n_features, [], []
        self.early, self.scaler, self.projection = False, None, None
        self._choose_among()

    def _choose_among(self) -> None:
        """Begin to choose which features matter; of directions all do."""
        given = "off" if self.directions else self.params.relevance
        self.relevance = FeatureChoice(self.width, given)

    def _make_rules(self) -> RuleBase:
        params = self.params
        if self.bounded:
            params = replace(params, product_space=False, correlation="none")
        return RuleBase(params, self.width, self.n_labels, self.relevance.features)

    def _make_stages(self) -> list[Any]:
        params, sizes, features = self.params, (self.width, self.n_labels), self.relevance.features
        stages: list[Any] = [self._make_rules()]
        if params.cases > 0:
            stages.append(CaseStage(*sizes, params.cases, features=features))
            if params.follows:
                stages.append(RecentStage(*sizes, features=features))
        if params.time:
            stages.append(TemporalStage(*sizes))
        makers = (seams.function_of("stage", own) for own in params.stages)
        return stages + [seams.ask("stage", make, *sizes) for make in makers]

    # -- batch ------------------------------------------------------------------------------

    @one_at_a_time
    @one_blas_thread()
    def fit(self, X: Floats, Y: Floats, weights: Floats | None = None) -> Self:
        """Learn an initial batch from nothing (Algorithm 1); if that breaks off, nothing changed.

        ``weights`` are those of the rows, above 0. Their median is the unit: so a row of the usual
        weight counts as one row, here and in the stream.
        """
        weights = np.ones(len(Y)) if weights is None else weights
        labelled = ~np.isnan(Y).all(axis=1)
        unit = float(np.median(weights[labelled]))
        weights = np.minimum(weights[labelled] / unit, checks.MOST_WEIGHT)
        other = self.fitted_to(X[labelled], np.array(Y[labelled]), weights)
        vars(self).update(vars(other) | {"unit": unit})
        changed_otherwise(self)
        self.warn_of_divergence()
        return self

    @one_blas_thread()
    def fitted_to(self, X: Any, Y: Floats, weights: Floats) -> Learner:
        """Return another learner that is fitted to some rows with known labels."""
        other = type(self)(self.params, self.n_features, self.n_labels, layered=self.layered)
        other._fit(X, Y, weights)
        return other

    def _fit(self, X: Any, Y: Floats, weights: Floats) -> None:
        self.params.check_width(self.n_features)  # known at last, where features came one by one
        self.early = False
        if self.directions and not (self.params.projection == "auto" and wide.is_dense(X)):
            self._project(X, Y, weights)
            self.window = max(wide.WINDOW, len(Y))
        inside = self.inside(X)
        self.scaler = Scaler.from_rows(inside, self.params.clip, Y)
        if self.params.scaling == "follow":
            self.scaler = replace(self.scaler, ignored=only_grow(inside))
        self._choose_among()
        rows = self.scaler.transform(inside)
        self.watch = Watch.from_rows(inside, rows)
        rare = 0 if self.directions else max(LOOK, BY_FEATURE * self.width)
        self.watch[LAWFUL], self.watch[DUE] = len(Y), max(rare, len(Y))
        self.watch[WAIT] = self.watch[DUE]
        kept = wide.as_sparse(X) if self.directions else inside
        self.last = [(kept[-self.window :].copy(), Y[-self.window :], weights[-self.window :])]
        whole = rows if not np.isnan(rows).any() else self._fill_batch(rows, Y, weights)
        self.relevance.choose(rows, Y, weights)
        self.stages = self._make_stages()
        scores = None
        for stage in self.stages:
            scores = stage.begin(whole, scores, Y, weights)
            weights = np.minimum(weights, MOST_OF_AN_ERROR)
        if self.layered:
            self.labels = LabelLayer(self.n_labels, self.params.decision)
            self.labels.begin(whole, scores, Y, weights)

    def _project(self, X: Any, Y: Floats, weights: Floats) -> None:
        """Find the directions onto which all rows are projected from now on."""
        given = self.params.relevance
        flags = given if isinstance(given, tuple) else None
        if self.params.projection == "auto":
            wide.tell_once(self.n_features, self.directions)
        self.projection = Projection.from_rows(X, Y, weights, self.directions, flags)
        self.bounded = self.n_labels > wide.MANY_LABELS

    def inside(self, X: Any) -> Floats:
        """Return rows, dense or sparse, as the stages see them, but for the scale."""
        if self.projection is not None:
            return self.projection.rows(X)
        return densify(X)

    def scaled(self, X: Any) -> Floats:
        """Return rows as the stages see them."""
        return self.scaler.transform(self.inside(X))

    def _fill_batch(self, rows: Floats, Y: Floats, weights: Floats) -> Floats:
        """Return rows with what rules that are formed from them expect of missing features."""
        whole, rules = np.nan_to_num(rows), RuleBase(self.params, self.width, self.n_labels)
        for _ in range(2):
            rules.form(whole, Y, weights)
            whole = self.fill(rows, rules)
        return whole

    # -- stream -----------------------------------------------------------------------------

    @one_at_a_time
    def learn(
        self,
        X: Floats,
        Y: Floats,
        trace: Trace | None = None,
        weights: Floats | None = None,
        *,
        late: int | None = None,
    ) -> Self:
        """Learn rows in order; any split into calls gives the same state.

        ``weights`` are above 0, one for each row; rows of a warm-up cannot have any. ``late`` is
        for rows that were passed (`pass_rows`): how many rows were passed since each of them.

        A trace gets what is said of every row before it is learned, or of the other rows that it
        brings. An interrupt takes effect between two blocks of rows; after it, or an error, the
        learner is as it was before the call.
        """
        delay = (0 if trace is None else trace.delay) if late is None else late
        weights = np.ones(len(Y)) if weights is None else self.in_units(weights)
        whole_or_not_at_all(
            self, len(Y), "learn_at_once", X, Y, weights, delay, late is not None, trace=trace
        )
        self.warn_of_divergence()
        return self

    def learn_at_once(
        self,
        X: Floats,
        Y: Floats,
        weights: Floats,
        delay: int,
        gone_by: bool,
        trace: Trace | None = None,
    ) -> None:
        """Learn rows of which the labels come ``delay`` rows after the answers.

        If that breaks off, some are learned, maybe in a part of the stages.
        """
        if gone_by and len(Y) > 1:  # each of them may change how late labels usually are
            for t in range(len(Y)):
                row = slice(t, t + 1)
                part = None if trace is None else trace.part(row)
                self.learn_at_once(X[row], Y[row], weights[row], delay, gone_by, part)
            return
        start = 0 if self.fitted else self._hold(X, Y, trace)
        self.come_late(delay, gone_by=gone_by)
        learn_in_blocks(self._learn_block, X, Y, trace, start, weights)

    def come_late(self, delay: int, *, gone_by: bool) -> None:
        """Say how many rows lie between an answer and its labels, for all rows that follow."""
        self.late = delay, gone_by
        for stage in self.stages + ([] if self.other is None else self.other.stages):
            stage.come_late(delay, gone_by=gone_by)

    def in_units(self, weights: Floats) -> Floats:
        """Return weights of rows as numbers of usual rows."""
        return np.minimum(weights / self.unit, checks.MOST_WEIGHT)

    def _learn_block(self, X: Floats, Y: Floats, trace: Trace | None, weights: Floats) -> None:
        """Learn rows, and look back after every `STEP` with a known label."""
        trace = UNHEARD if trace is None else trace
        X = wide.as_sparse(X) if self.projection is not None else writeable(densify(X))
        first, known = 0, known_rows(Y)
        while first < len(Y):
            left = rows_to_look(self)
            last = len(Y) if len(known) < left else int(known[left - 1]) + 1
            part = slice(first, last)
            here = trace.part(part)
            self._learn_part(X[part], Y[part], here, weights[part], known[:left] - first)
            if len(known) >= left:
                here.note(last - first - 1, look_back(self), self.n_rules)
            trace.take_events(here, first)
            first, known = last, known[left:]

    def _learn_part(self, X: Any, Y: Floats, trace: Trace, weights: Floats, known: Ints) -> None:
        """Let the model, and a challenger, answer and learn rows; remember them."""
        scores, theirs = self.go_through(X, Y, trace, weights), None
        if self.watch[DOUBT]:
            self.watch[PASSED] += len(Y) - len(known)
        elif self.other is not None:
            theirs = losses_of(self.other.go_through(X, Y, UNHEARD, weights), Y)[known]
        self.watch.note(losses_of(scores, Y)[known], theirs)
        self.last = wide.keep(self.last, self.window, known, X.copy(), Y.copy(), weights.copy())
        if self.early and len(known):
            self.held = [*self.held, (X if self.directions else X[0].copy(), Y[0].copy())]

    def go_through(self, X: Any, Y: Floats, trace: Trace, weights: Floats) -> Floats:
        """Let all stages answer and learn rows, cut where a row is to be filled first."""
        rows, scores = self.scaled(X), np.empty(Y.shape)
        first, others = 0, trace.rows  # others are answered in between
        gaps: Any = np.isnan(rows).any(axis=1)
        Y, weights = writeable(Y), writeable(weights)
        while first < len(rows):
            last = first + 1
            if last < len(rows) and others is None:
                last += int(np.append(gaps[last:], True).argmax())
            part = slice(first, last)
            if others is not None:
                trace.take_answer(self.answer(others[part], ahead=trace.ahead), part)
            shared = self.score(X[part]) if self.shared and trace.heard else None
            filled = self.fill(rows[part]) if gaps[first] else rows[part]
            answer = self._follow(filled, Y[part], weights[part])
            scores[part] = answer.scores  # whoever asks, and whatever is answered in the warm-up
            if others is None:
                shown = answer if shared is None else self.answer_scores(shared)
                trace.take_answer(shown, part)
            trace.take_rules(first, self.rules.n_rules_by_row, self.rules.events)
            first = last
        return scores

    def _follow(self, rows: Floats, Y: Floats, weights: Floats) -> Answer:
        """Go through all stages with a block of rows."""
        scores: Any = None
        kept = np.ones(len(rows))
        light = np.minimum(weights, MOST_OF_AN_ERROR)
        for stage in self.stages:
            scores = stage.follow(rows, scores, Y, weights, kept)
            weights = light
        if self.labels is None:
            return plain_answer(scores)
        return self.labels.follow(rows, scores, Y, weights, kept)

    def warn_of_divergence(self) -> None:
        """Warn once that a rule was stopped, naming it and the cause."""
        if self.warned or not self.fitted or self.rules.diverged is None:
            return
        (uid, row), self.warned = self.rules.diverged, True
        far = "correlation='paper' is not convex" * (self.params.correlation == "paper")
        steep = "lipschitz='paper' steps too far" * (self.params.lipschitz == "paper")
        why = " and ".join(filter(None, (far, steep))) or "steps too large"
        warnings.warn(
            f"rule {uid} passed max |W| = {MOST_WEIGHT:g} at row {row} ({why}); it and any further "
            "such rule go on without proximal steps.",
            DivergenceWarning,
            stacklevel=4,
        )

    # -- warm-up ----------------------------------------------------------------------------

    @one_blas_thread()
    def _hold(self, X: Floats, Y: Floats, trace: Trace | None) -> int:
        """Keep warm-up rows until there are enough, then fit; return how many were taken."""
        for t in range(len(Y)):
            x = X[t : t + 1]
            if trace is not None:
                seen = x if trace.rows is None else trace.rows[t : t + 1]
                trace.take_answer(self.answer(seen), slice(t, t + 1))
            if not np.isnan(Y[t]).all():
                x = wide.as_sparse(x).copy() if self.directions else self.inside(x)[0].copy()
                row = x, Y[t].copy()
                self.held = [*self.held, row]
                if len(self.held) in (EARLY, self.params.warmup_rows):
                    self._fit_to_held()
            if trace is not None:
                trace.rules[t] = self.n_rules
            if self.fitted:
                return t + 1
        return len(Y)

    def _fit_to_held(self) -> None:
        """Fit to the first rows for the first time."""
        rows = wide.join(wide.as_blocks(self.held))
        vars(self).update(vars(self.fitted_to(*rows)) | {"held": self.held})
        self.early = len(self.held) < self.params.warmup_rows
        self.held = self.held if self.early else []

    # -- answers ----------------------------------------------------------------------------

    @one_at_a_time
    def score(self, X: Floats, ahead: Ints | int = 0) -> Floats:
        """Return the (n, K) continuous outputs of rows, each so many rows after the next one."""
        if self.fitted and not self.shared:
            return self.score_scaled(self.scaled(X), ahead)
        if self.directions:  # similar rows have no say
            return np.tile(self.frequencies, (X.shape[0], 1))
        similar = self.warm_start.answer(self.frequencies, self.inside(X))
        if not self.fitted:
            return similar
        return 0.5 * (self.score_scaled(self.scaled(X), ahead) + similar)

    @one_at_a_time
    def answer(self, X: Floats, known: Floats | None = None, ahead: Ints | int = 0) -> Answer:
        """Return scores, decisions and probabilities, given the labels that are known."""
        return self.answer_scores(self.score(X, ahead), known)

    def answer_scores(self, scores: Floats, known: Floats | None = None) -> Answer:
        """Return what is said of rows with these scores."""
        if self.labels is not None and not self.shared:
            return self.labels.say(scores, known)
        return plain_answer(scores, known, self.held_sums[1] if self.layered else None)

    def score_scaled(
        self, rows: Floats, ahead: Ints | int = 0, *, timeless: bool = False
    ) -> Floats:
        """Return the scores of scaled rows, each so many rows after the next one."""
        rows, scores = self.fill(rows), None
        for stage in self.stages:
            if not (timeless and type(stage) is TemporalStage):
                scores = stage.answer(rows, scores, ahead)
        return scores  # type: ignore[return-value]

    def fill(self, rows: Floats, rules: RuleBase | None = None) -> Floats:
        """Return scaled rows with what the rules expect of missing features (NaN)."""
        gaps = np.isnan(rows).any(axis=1)
        if not gaps.any():
            return np.ascontiguousarray(rows)
        rules, filled = self.rules if rules is None else rules, np.array(rows)
        for t in np.flatnonzero(gaps):
            rules.fill(filled[t])
        return filled

    def activations(self, rows: Floats) -> Floats:
        """Return Psi (n, rules) of scaled rows."""
        return self.rules.activations(self.fill(rows))

    @one_at_a_time
    def pass_rows(self, count: int) -> None:
        """Let rows of the stream go by of which nothing is learned."""
        whole_or_not_at_all(self, 0, "pass_through", count)

    def pass_through(self, count: int) -> None:
        """Let rows go by, also for a challenger."""
        for stage in self.stages:
            stage.pass_rows(count)
        if self.fitted and self.watch[DOUBT]:
            self.watch[PASSED] += count
        elif self.other is not None:
            self.other.pass_through(count)

    @one_at_a_time
    def add_labels(self, count: int) -> None:
        """Take in labels that appear late; every row so far counts as not having them."""
        whole_or_not_at_all(self, 0, "_add_labels", count)

    def _add_labels(self, count: int) -> None:
        self.n_labels += count
        self.held = [(x, np.append(y, np.zeros(count))) for x, y in self.held]
        self.last = [(x, np.pad(Y, ((0, 0), (0, count))), w) for x, Y, w in self.last]
        for part in (*self.stages, self.labels):
            if part is not None:
                part.add_labels(count)
        if self.other is not None:
            self.other._add_labels(count)

    # -- state ------------------------------------------------------------------------------

    @one_at_a_time
    def copy(self, into: Learner | None = None) -> Learner:
        """Return an independent learner in the same state, in the arrays of an older copy."""
        other = type(self).__new__(type(self))
        for name, part in vars(self).items():  # arrays in lists are replaced, never written to
            setattr(other, name, part.copy() if hasattr(part, "copy") else part)
        spare = [None] * len(self.stages) if into is None else into.stages
        other.stages = [*map(copy_of, self.stages, spare)]
        other.last = [wide.last(self.last, self.window)] if self.last else []
        return other

    def _parts(self) -> dict[str, Any]:
        """Return stages and other parts with arrays, by the names that they are saved under."""
        first = len(self.stages) - len(self.params.stages)  # of one's own
        parts = {NAMES[type(stage)]: stage for stage in self.stages[:first]}
        parts |= {f"stage{i}": own for i, own in enumerate(self.stages[first:], first)}
        parts |= {"labels": self.labels, "watch": self.watch, "relevance": self.relevance}
        return {name: part for name, part in parts.items() if self.fitted and part is not None}

    @one_at_a_time
    def state(self) -> State:
        """Return facts and arrays for saving; settings follow from them."""
        facts = {name: getattr(self, name) for name in FACTS}
        facts["params"] = plain_parameters(vars(self.params))
        facts["other"], others = (None, {}) if self.other is None else self.other.state()
        parts: dict[str, Any] = {name: part.state() for name, part in self._parts().items()}
        if self.scaler is not None:
            parts["scaler"] = self.scaler.state()
        if self.projection is not None:
            parts["projection"] = self.projection._asdict()
        rows = self.last if self.fitted else wide.as_blocks(self.held)
        kind: Any = csr_array if self.directions else np.zeros
        none = kind((0, self.n_features)), np.zeros((0, self.n_labels)), np.zeros(0)
        parts["rows"] = wide.pack_rows(*wide.last([none, *rows], self.window))
        return facts, nest(**parts, other=others)

    @classmethod
    def from_state(cls, facts: Facts, arrays: Arrays) -> Self:
        """Build a learner from what :meth:`state` returned, or refuse what no learner has."""
        facts, beside = dict(facts), pick(arrays, "other")
        other = facts.pop("other", None)
        arrays = {name: arrays[name] for name in arrays if not name.startswith("other/")}
        check_all(bool(beside) == (other is not None), "its arrays are not those of its header")
        check_numbers(arrays, gaps=GAPS)
        params, p, K = check_facts(facts), facts["n_features"], facts["n_labels"]
        learner = cls(params, p, K)
        vars(learner).update({name: facts[name] for name in FACTS})
        if projection := pick(arrays, "projection"):
            learner.projection = Projection.restored(projection, p)
        fitted = "rules/uid" in arrays
        width = p if learner.projection is None else learner.projection.width
        if fitted:
            like: Any = Scaler.from_rows(np.zeros((1, width)), params.clip)
            learner.scaler = replace(like, **fitting(pick(arrays, "scaler"), like.state()))
            learner._choose_among()
            learner.relevance.restore(fitting(pick(arrays, "relevance"), learner.relevance.state()))
            learner.stages = learner._make_stages()
            learner.rules.allocate(len(arrays["rules/uid"]), 1 + params.follows)
            learner.labels = LabelLayer(K, params.decision) if learner.layered else None
            learner.watch = Watch(width)
        packed, sparse = pick(arrays, "rows"), bool(learner.directions)
        rows, labels, weights = wide.unpack_rows(packed, p, K, sparse=sparse)
        if fitted:
            learner.last = [(rows, labels, weights)]
        if not fitted or learner.early:
            one = slice if sparse else (lambda t, _: t)
            learner.held = [(rows[one(t, t + 1)], y) for t, y in enumerate(labels)]
        for name, part in learner._parts().items():
            given = pick(arrays, name)
            part.restore(given if name.startswith("stage") else fitting(given, part.state()))
        check_arrays(learner, arrays)
        if other is not None:
            check_beside(learner, other)
            learner.other = cls.from_state(other, beside)
        check_watch(learner)
        return learner


def copy_of(stage: Any, old: Any) -> Any:
    """Return a copy of a stage, in the arrays of an old copy; others may know of no such thing."""
    alike = type(stage) is type(old) and type(stage) in NAMES
    return stage.copy(old) if alike else stage.copy()


def losses_of(scores: Floats, Y: Floats) -> Floats:
    """Return the mean squared error of every row; what is far out counts as far, not more."""
    errors = (np.clip(scores, *FARTHEST_SCORE) - Y) ** 2
    known = ~np.isnan(Y)
    losses: Floats = np.where(known, errors, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return losses
