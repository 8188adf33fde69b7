"""RiverEFCML: the learner as a model of river, with dictionaries in and out."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite, nan
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from efcml.estimators.classifier import column_kinds
from efcml.explain import ColumnKinds, Explanation, RuleList, explain_row, read_rules
from efcml.model.labels import Answer, plain_answer
from efcml.model.learner import Learner
from efcml.model.params import Parameters, Params
from efcml.model.projection import directions
from efcml.support.aliases import Floats
from efcml.support.declared import with_parameters
from efcml.support.guard import interrupts_held, one_at_a_time
from efcml.support.imports import extra_for
from efcml.support.statistics import UNUSED

with extra_for("RiverEFCML"):
    from river import base

NUMBERS = (Real, np.bool_)  # numpy's truth values do not count as real numbers
SPARES, ENOUGH = 4, 20  # features that may come late; rows that must have had one before
GAPS = ("NoneType", "NAType", "NaTType")  # the last two are of pandas


@with_parameters
class RiverEFCML(base.MultiLabelClassifier, Parameters):
    """Evolving multi-label fuzzy classifier for river.

    The same learner as in `EFCMLClassifier`: on complete rows both give the same scores to the last
    bit, if the estimator has four more features, which are 0: they are kept for what comes late.

    - **Warm-up.** The first ``warmup_rows`` rows (200 unless told otherwise) are held. Label
      frequencies answer, and with them what similar rows had, as far as that is better. Before the
      first row the answer is ``{}``.
    - **Features** are finite numbers and are scaled inside. One that is missing in a row, or None
      or NaN there, is what each rule expects of it; if there are more than 300, as words of a text,
      it is 0. One that comes after the warm-up is left out until 20 rows have had it. Then it is
      learned, if it is one of the first four; where there are more than 300, none is.
    - **Labels** are True or False, or 1 and 0, and may appear at any time: all rows so far count as
      not having them, and answers have False for one that the model does not know. One that it
      knows and that is missing in ``y``, or None or NaN, is unknown in this row; say False if it is
      absent.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    learner : Learner
        The learner behind it, for the functions of efcml that want one.
    unknown_features_ : Counter
        How often `learn_one` left out each feature that came after the warm-up.

    Examples
    --------
    >>> from river import evaluate, metrics
    >>> from river.datasets import synth
    >>> from efcml.compat.river import RiverEFCML
    >>> model = RiverEFCML(warmup_rows=50)
    >>> metric = metrics.multioutput.MicroAverage(metrics.Accuracy())
    >>> evaluate.progressive_val_score(synth.Logical(n_tiles=20, seed=1), model, metric)
    MicroAverage(Accuracy): ...%
    >>> model.predict_one({"A": 1, "B": 0})
    {'AND': False, 'OR': True, 'XOR': True}
    """

    def __post_init__(self) -> None:
        if isinstance(self.stages, list):
            self.stages = tuple(self.stages)
        self.learner = Learner(Params(**vars(self)), 0, 0)
        self.unknown_features_ = Counter[Any]()
        self._columns: dict[Any, int] = {}  # of each feature
        self._labels: dict[Any, int] = {}  # column of each label

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"warmup_rows": 20, "prior": 1.0}  # the checks of river bring 50 rows
        yield {}

    def _get_params(self) -> dict[str, Any]:
        """Return the parameters; river takes a tuple for a class and its parameters."""
        return super()._get_params() | {"stages": list(self.stages)}

    @one_at_a_time
    @interrupts_held()
    def learn_one(self, x: Mapping[Any, Any], y: Mapping[Any, Any]) -> None:
        """Learn one row; of one without any known label nothing is learned, but time passes."""
        features, labels, learner = read_features(x), read_labels(y), self.learner
        if not labels:
            if learner.fitted:
                learner.pass_rows(1)
            return
        if not (features or self._columns):
            raise ValueError(
                "x is empty, and no feature is known yet: begin with a row that has one."
            )
        # In an order that does not depend on that of the keys.
        new = sorted(features.keys() - self._columns.keys(), key=repr)
        absent = sorted(labels.keys() - self._labels.keys(), key=repr)
        before = dict(self.__dict__)
        held, most = len(learner.held), learner.params.warmup_rows
        ends = learner.warming_up and held + 1 >= most
        if absent or ends or (new and learner.warming_up):
            before["learner"] = learner.copy()  # which then changes in more than one call
        try:
            if new and not learner.warming_up:
                self._come_late(new)
            elif new:
                self._columns = self._columns | numbered(new, len(self._columns))
            if new or ends:
                self._widen(SPARES if ends else 0)
            if absent:
                self.add_labels(absent)
            learner.learn(self._row(features), as_row(labels, self._labels))
        except BaseException:
            self.__dict__.update(before)
            raise

    def add_labels(self, labels: Sequence[Any]) -> None:
        """Take in labels that appear late; every row so far counts as not having them."""
        if not labels or len({*self._labels, *labels}) < len(self._labels) + len(labels):
            raise ValueError(f"labels must be a list of new names, each once; got {labels!r}.")
        self.learner.add_labels(len(labels))
        self._labels = self._labels | numbered([*labels], len(self._labels))

    def _come_late(self, features: list[Any]) -> None:
        """Count features that come after the warm-up; learn those that have come often enough."""
        if not self.unknown_features_:
            warnings.warn(
                f"feature {features[0]!r} first came after the warm-up: it is ignored, as all such"
                f" features are, until {ENOUGH} rows have had it; unknown_features_ counts them.",
                stacklevel=5,
            )
        counts = self.unknown_features_ + Counter(features)
        for name in features:
            if counts[name] > ENOUGH and len(self._columns) < self.learner.n_features:
                self._columns = self._columns | {name: len(self._columns)}
                counts[name] -= 1
                warnings.warn(f"feature {name!r} has come often: it is learned.", stacklevel=5)
        self.unknown_features_ = counts

    def _widen(self, spares: int) -> None:
        """Make room for features that have come since, and some to come, unless they are many."""
        learner, p = self.learner, len(self._columns)
        if not learner.warming_up:
            return
        given, K = learner.params, learner.n_labels
        if isinstance(given.relevance, tuple) or directions(given.projection, p + spares, K):
            spares = 0
        learner.take_features(p + spares)
        learner.held = [(self._widened(row), y) for row, y in learner.held]

    def _row(self, features: dict[Any, float]) -> Floats:
        """Return features as a row (1, p); of many, what is not there is 0."""
        row = as_row(features, self._columns, 0.0 if self.learner.directions else nan)
        return np.pad(row, ((0, 0), (0, self.learner.n_features - len(self._columns))))

    def _widened(self, row: Any) -> Any:
        """Return a row that is held with room for features that have come since."""
        p = len(self._columns)
        if not self.learner.directions:
            row = np.append(row, np.full(p - len(row), nan))
            return np.pad(row, (0, self.learner.n_features - p))
        row = row if hasattr(row, "indptr") else csr_array(np.nan_to_num(row)[None])
        return csr_array((row.data, row.indices, row.indptr), (1, p))

    def _answer(self, x: Mapping[Any, Any]) -> Answer:
        """Return score, decision and probability of every label, in the order of labels."""
        row = self._row(read_features(x))
        return self.learner.answer(row) if self._labels else plain_answer(np.empty((1, 0)))

    @one_at_a_time
    def predict_one(self, x: Mapping[Any, Any]) -> dict[Any, bool]:
        """Return True or False for every label that has been seen; ``{}`` before the first."""
        decided = self._answer(x).decisions[0] == 1.0
        return Answers(zip(self._labels, decided.tolist(), strict=True), unknown=False)

    @one_at_a_time
    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, dict[bool, float]]:
        """Return for every label the probabilities of True and False; ``{}`` before the first."""
        chances = zip(self._labels, self._answer(x).probabilities[0].tolist(), strict=True)
        known = ((name, {True: chance, False: 1.0 - chance}) for name, chance in chances)
        return Answers(known, unknown={True: 0.0, False: 1.0})

    @property
    def n_rules(self) -> int:
        """Number of rules now; 0 before the first fit."""
        return self.learner.n_rules

    @property
    def feature_names(self) -> tuple[Any, ...]:
        """Names of the features that the model uses, as the columns of the learner."""
        return tuple(self._columns)

    @property
    def label_names(self) -> tuple[Any, ...]:
        """Names of the labels, as the columns of the learner."""
        return tuple(self._labels)

    @property
    @one_at_a_time
    def rules(self) -> RuleList:
        """The rules now, by what they decide, to be read or printed: a `RuleList`."""
        if not self._labels:
            raise ValueError("nothing has been learned yet: call learn_one first.")
        return read_rules(self.learner, None, self.label_names, self._kinds())

    @one_at_a_time
    def explain_one(self, x: Mapping[Any, Any]) -> Explanation:
        """Return why the model says what it says of one row: an `Explanation`."""
        row = self._row(read_features(x))
        return explain_row(self.learner, row, None, self.label_names, self._kinds())

    def _kinds(self) -> ColumnKinds | None:
        """Return names and kinds of the columns of the learner, if there are any."""
        if not self._columns:
            return None
        free = (f"{UNUSED}{i}" for i in range(self.learner.n_features - len(self._columns)))
        return column_kinds(self.learner, [*self._columns, *free])


class Answers(dict[Any, Any]):
    """Answers by label; for one that is not known they are those of a label that is not there."""

    def __init__(self, answers: Any, unknown: Any) -> None:
        super().__init__(answers)
        self.unknown = unknown

    def __missing__(self, label: Any) -> Any:
        return self.unknown


MUST_BE_FEATURE = (
    "feature {!r} must be a finite number, or None if it is missing; got {!r}: encode it, or leave"
    " the feature out of this row."
)
MUST_BE_LABEL = "label {!r} must be True or False (1 or 0), or None if it is unknown; got {!r}."


def read_features(x: Any) -> dict[Any, float]:
    """Return the features that are there as floats; None and NaN are missing."""
    return read_dictionary(x, "x must be a dictionary of features", isfinite, MUST_BE_FEATURE)


def read_labels(y: Any) -> dict[Any, float]:
    """Return the known labels as 0.0 and 1.0; None and NaN are unknown."""
    is_good = (0.0, 1.0).__contains__
    return read_dictionary(y, "y must be a dictionary of labels", is_good, MUST_BE_LABEL)


def read_dictionary(
    given: Any, kind: str, is_good: Callable[[float], bool], must: str
) -> dict[Any, float]:
    """Return what a dictionary has as floats, but for what is missing; refuse anything else."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{kind}; got {type(given).__name__}.")
    known = {name: value for name, value in given.items() if type(value).__name__ not in GAPS}
    values = {
        name: float(value) if isinstance(value, NUMBERS) else nan
        for name, value in known.items()
        if value == value
    }
    for name, value in values.items():
        if not is_good(value):
            raise ValueError(must.format(name, given[name]))
    return values


def numbered(names: list[Any], first: int) -> dict[Any, int]:
    """Return numbers of columns by their names."""
    return {name: column for column, name in enumerate(names, first)}


def as_row(values: dict[Any, float], columns: dict[Any, int], gap: float = nan) -> Floats:
    """Return values by name as an array of one row, with gaps where there is none."""
    row = np.full((1, len(columns)), gap)
    for name in values.keys() & columns.keys():
        row[0, columns[name]] = values[name]
    return row
