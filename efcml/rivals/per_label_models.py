"""OneVsRestEFC and ChainEFC: what EFC-ML is compared with, on the same engine."""

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.estimators.classifier import SEED, UNUSED_SEED
from efcml.estimators.engine_face import EngineFace
from efcml.estimators.seeds import read_random_state
from efcml.explain import ColumnKinds, RuleList, name_all, read_rules
from efcml.model.params import Parameters
from efcml.rivals.model_list import LEAST_SQUARES
from efcml.rivals.per_label import ChainLearner, OneVsRestLearner
from efcml.support.declared import other, with_parameters

if TYPE_CHECKING:
    from efcml.support.aliases import Ints


@with_parameters
class PerLabelFace(EngineFace, Parameters):
    """A face whose learner has one rule base per label; least squares alone unless told."""

    correlation: str = LEAST_SQUARES["correlation"]
    alpha: float = LEAST_SQUARES["alpha"]
    beta: float = LEAST_SQUARES["beta"]

    @property
    def rules_(self) -> dict[str, RuleList]:
        """The rules now, a `RuleList` for the name of each label.

        In a chain, the labels before a label are features of its rules.
        """
        _, labels = self.column_names()
        learner = self.learner_
        labels = name_all(labels, "label", learner.n_labels)
        columns = self._column_kinds()
        inputs = columns.names + tuple(labels[c] for c in learner.order)
        flags = np.append(columns.flags, np.ones(learner.n_labels, dtype=bool))
        found = {}
        for model, c in zip(learner.models, learner.order, strict=True):
            p = model.n_features
            own = ColumnKinds(inputs[:p], flags[:p], columns.groups)
            found[labels[c]] = read_rules(model, None, [labels[c]], own)
        return found


@with_parameters
class OneVsRestEFC(PerLabelFace):
    """One evolving fuzzy classifier per label; each knows nothing of the other labels.

    The planes are least squares alone (``correlation="none"``), as in the paper's comparison. It
    gives exactly what K classifiers with one label each would give. `n_rules_` counts the rules
    of all labels. In the events of `prequential`, rule u of label c has the uid
    ``c * 10**9 + u``.

    Without ``fit`` before, every label holds its own first ``warmup_rows`` rows in which it is
    known.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, label_names_
        As in `EFCMLClassifier`.
    learner_ : OneVsRestLearner
        The learner behind the face.

    Examples
    --------
    >>> from efcml import OneVsRestEFC, datasets, prequential
    >>> ds = datasets.load("drifting-clusters", n=100, n_initial=60)
    >>> clf = OneVsRestEFC(prior=1.0).fit(*ds.initial)
    >>> prequential(clf, *ds.stream).scores.shape
    (40, 5)
    """

    random_state: Any = other(*UNUSED_SEED, default=None)

    def _new_learner(self, n_features: int, n_labels: int) -> OneVsRestLearner:
        return OneVsRestLearner(self._params(), n_features, n_labels)


@with_parameters
class ChainEFC(PerLabelFace):
    """A chain of evolving fuzzy classifiers: each label also sees the labels before it.

    The model of a label learns from the true labels before it and answers from the chain's own
    hard decisions. The planes are least squares alone, as in the paper's comparison. Where a
    label before is unknown, the chain's decision before it learns the row stands in. `n_rules_`
    counts the rules of all labels. In the events of `prequential`, rule u of label c has the uid
    ``c * 10**9 + u``.

    Without ``fit`` before, every label holds its own first ``warmup_rows`` rows in which it is
    known.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, label_names_
        As in `EFCMLClassifier`.
    learner_ : ChainLearner
        The learner behind the face; ``learner_.order`` is the order.

    Examples
    --------
    >>> from efcml import ChainEFC, datasets, prequential
    >>> ds = datasets.load("drifting-clusters", n=100, n_initial=60)
    >>> clf = ChainEFC(order=[4, 3, 2, 1, 0], prior=1.0).fit(*ds.initial)
    >>> prequential(clf, *ds.stream).scores.shape
    (40, 5)
    """

    order: Any = other(
        'None, sequence of int or "random"',
        "Labels in the order of the chain. None is the order of the columns.",
        default=None,
    )
    random_state: Any = other(SEED, 'For ``order="random"``.', default=None)

    def _new_learner(self, n_features: int, n_labels: int) -> ChainLearner:
        params = self._params()
        order = read_order(self.order, n_labels, self.random_state)
        return ChainLearner(params, n_features, n_labels, order)


def read_order(order: Any, n_labels: int, random_state: Any) -> "Ints":
    """Return the order of a chain as an array of label indices."""
    if order is None:
        return np.arange(n_labels)
    if isinstance(order, str) and order == "random":
        return read_random_state(random_state).permutation(n_labels)
    whole = not isinstance(order, str) and np.ndim(order) == 1
    whole = whole and all(isinstance(label, Integral) for label in order)
    if not whole or sorted(order) != list(range(n_labels)):
        raise ValueError(
            f"order must be None, 'random' or the labels 0..{n_labels - 1}, each once; "
            f"got {order!r}."
        )
    return np.array(order)
