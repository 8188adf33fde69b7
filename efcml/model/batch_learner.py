"""BatchLearner: how rules, cases and what follows them begin, from the first rows (Algorithm 1)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from efcml.model import batch
from efcml.model.beginning import Beginning
from efcml.model.birth import start_variances
from efcml.model.casebase import CaseBase
from efcml.model.evolving import NOT_YET, EvolvingRules
from efcml.model.filling import rows_for_all
from efcml.model.following_scale import FollowingScale
from efcml.model.honest_errors import honest_errors
from efcml.model.label_layer import LabelLayer
from efcml.model.memories import begin_brief
from efcml.model.prior import COARSE, choose_prior_and_share
from efcml.model.scaler import Scaler
from efcml.model.scratch import ALL_ALIKE
from efcml.model.sequelbase import SequelBase
from efcml.model.sharing import next_renewal
from efcml.support.blas import one_blas_thread
from efcml.support.guard import one_at_a_time
from efcml.support.label_means import label_means

if TYPE_CHECKING:
    from efcml.model.params import Params
    from efcml.model.prior import Prior
    from efcml.model.rulebase import RuleBase
    from efcml.support.aliases import Floats, Pairs


class BatchLearner(EvolvingRules):
    """All parts of a learner; ``fit`` makes them."""

    def __init__(
        self,
        params: Params,
        n_features: int,
        n_labels: int,
        *,
        capacity: int = 8,
        pairs: Pairs | None = None,
        layered: bool = True,
    ) -> None:
        super().__init__(params, n_features, n_labels, capacity=capacity, pairs=pairs)
        self.scaler: Scaler = NOT_YET
        self.following: FollowingScale | None = None  # if the scale follows, once there is one
        self.held: list[tuple[Floats, Floats]] = []  # warm-up rows
        self.beginning = self._new_beginning()
        self.told_of_clipping = False
        self.layered = layered and pairs is None  # whether errors teach of the labels
        self.labels: LabelLayer | None = None  # then, once there are rules

    @property
    def fitted(self) -> bool:
        """Whether rules exist; before, the rows that are held answer (model/beginning.py)."""
        return self.rules is not None

    @property
    def n_rules(self) -> int:
        """Number of rules now."""
        return self.rules.n_rules if self.fitted else 0

    @property
    def frequencies(self) -> Floats:
        """Label frequencies of the rows that are held."""
        return label_means(np.array([y for _, y in self.held]).reshape(-1, self.n_labels))

    def take_features(self, n_features: int) -> None:
        """Change the number of features, as long as no row is fitted."""
        self.n_features = n_features
        self._forget_recent()

    @one_at_a_time
    @one_blas_thread()
    def fit(self, X: Floats, Y: Floats, amounts: Floats | None = None) -> Self:
        """Learn an initial batch from nothing (Algorithm 1).

        ``amounts`` are weights of the rows, above 0. They count in the rules, what these are held
        to, the cases and caution; all else takes rows alike.
        """
        labelled = ~np.isnan(Y).all(axis=1)
        amounts = None if amounts is None else amounts[labelled]
        X, Y = X[labelled], Y[labelled]
        self.counts = dict.fromkeys(self.counts, 0)
        self.rows_seen, self.warned, self.held = 0, False, []
        self.beginning = self._new_beginning()
        self.scaler = Scaler.from_rows(X, self.params.clip)
        raw, X = X, self.scaler.transform(X)
        self.following = None
        if self.params.scaling == "follow":
            self.following = FollowingScale.from_rows(raw, X, self.n_labels)
        self.start_variance = start_variances(X, self.n_labels, self.params.birth_width)
        whole = self._fill_gaps(X, Y)
        prior, share = choose_prior_and_share(self._form_rules, X, Y, self.params, whole)
        with self._weighed(ALL_ALIKE if amounts is None else amounts):
            self.build(X, Y, replace(prior, amounts=amounts), share, whole)
        self.cases, self.sequel = self._new_cases(), self._new_sequel()
        self.labels = self._new_labels()
        if self.cases.capacity:
            facts = self.rules, X, Y, self.settings
            own = 1.0 if amounts is None else amounts
            errors = batch.errors_without_own_row(*facts, amounts=own)
            rows = rows_for_all(self.rules, X, self.settings)
            self.cases.fill(rows, errors, ALL_ALIKE if amounts is None else amounts)
        self._learn_from_errors(X, Y, amounts)
        return self

    def _learn_from_errors(self, X: Floats, Y: Floats, amounts: Floats | None) -> None:
        """Begin what errors teach, by those that the batch would make at rows not learned."""
        if self.labels is None and not self.sequel.is_on:
            return
        facts = self.rules, self.cases, self.shared, X, Y, self.settings
        errors = honest_errors(*facts, amounts)
        if self.sequel.is_on:
            self.sequel.begin(errors, Y, ALL_ALIKE if amounts is None else amounts)
        if self.labels is not None:
            self.labels.begin(errors, Y[-len(errors) :])

    def _new_labels(self) -> LabelLayer | None:
        return LabelLayer(self.n_labels) if self.layered else None

    def _new_beginning(self) -> Beginning:
        return Beginning(self.params.clip, answers=self.params.provisional)

    def _form_rules(self, X: Floats, Y: Floats, split_share: float) -> tuple[RuleBase, Any]:
        """Return the rules that scaled rows would form, and their settings."""
        trial = EvolvingRules(self.params, self.n_features, self.n_labels, capacity=self.capacity)
        trial.start_variance = self.start_variance
        trial.cluster(X, Y, 1.0, split_share)
        return trial.rules, trial.settings

    def _new_cases(self) -> CaseBase:
        params = self.params
        return CaseBase(
            self.n_features, self.n_planes, params.cases, params.case_width, params.case_noise
        )

    def _new_sequel(self) -> SequelBase:
        """Return one that knows nothing yet; several pairs (alpha, beta) have none."""
        one, params = self.pairs is None, self.params
        return SequelBase(self.n_labels, trusts=one and params.caution, times=one and params.time)

    def _fill_gaps(self, X: Floats, Y: Floats) -> Floats:
        """Return scaled rows with what rules formed from them expect of missing features."""
        if not np.isnan(X).any():
            return X
        rules, settings = self._form_rules(X, Y, COARSE)
        return rows_for_all(rules, X, settings)

    def build(
        self, X: Floats, Y: Floats, prior: Prior, split_share: float, whole: Floats | None = None
    ) -> None:
        """Form rules from scaled rows and solve for their consequents.

        ``whole`` are the rows with gaps filled in, if there are any.
        """
        self.cluster(X, Y, prior.strength, split_share)
        psi = batch.activations(self.rules, X, self.settings)
        if prior.amounts is not None:
            psi *= prior.amounts[:, None]
        batch.set_statistics(self.rules, X, Y, psi)
        batch.set_decided(self.rules, X, Y, psi, prior.amounts)
        base = prior.planes(X if whole is None else whole, Y)
        diverged = batch.set_weights(self.rules, self.prior_precision, base, self.settings)
        for rule in diverged:
            self.rules.arrays.stopped[rule] = len(X)
        self._warn_of_divergence()
        if prior.shared is not None:
            self.shared, self.renewal = prior.shared, next_renewal(self.rows_seen, self.n_features)
            self._steer()
        if self.settings.follows:
            self.brief = begin_brief(self.rules)
            self._forget_recent(room=self.params.cases > 0)
