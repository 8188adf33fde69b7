"""Models from elsewhere, told apart by their methods; none of their packages is imported.

An adapter scores and learns one row, given by its number. Scores are continuous with 0.5 as the
threshold. Rows go through one by one, in Python.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from efcml.estimators.targets import as_array, read_labels
from efcml.evaluation.pipelines import take_rows
from efcml.support.masks import is_sparse, refuse_mask

if TYPE_CHECKING:
    from efcml.model.trace import Trace
    from efcml.support.aliases import Floats

ANSWERS = ("decision_function", "predict_proba", "predict")


class Adapter:
    """A model and the rows of its stream. What features may hold is the model's own matter."""

    def __init__(self, model: Any, X: Any, Y: Any) -> None:
        """Check shapes and labels; one line says what is wrong."""
        y = as_array(Y)
        if y.ndim not in (1, 2) or 0 in y.shape[1:]:
            raise ValueError(f"Y must have the shape (rows, labels) or (rows,); got {y.shape}.")
        labels = read_labels(y.reshape(len(y), -1))
        if not hasattr(X, "iloc") and not is_sparse(X):
            table = np.asarray(refuse_mask(X, "X"))
            X = np.array(X, dtype=float if table.dtype.kind in "biuf" else object)
        if len(X.shape) != 2 or X.shape[1] == 0:
            raise ValueError(f"X must have the shape (rows, features); got {X.shape}.")
        if X.shape[0] != len(labels):
            numbers = f"{X.shape[0]} and {len(labels)}"
            raise ValueError(f"X and Y have inconsistent numbers of rows: {numbers}.")
        self.model, self.X, self.Y = model, X, labels
        self.flat = y.ndim == 1  # as labels were given
        self.feature_names = list(getattr(X, "columns", range(X.shape[1])))
        self.label_names = list(getattr(Y, "columns", range(labels.shape[1])))


class PartialFitModel(Adapter):
    """A scikit-learn model, or one that looks like it.

    Labels are passed as integers, in the shape in which they were given. A row that lacks a label
    is not learned. Until the model is fitted, the label frequencies of the rows that have arrived
    answer for it.
    """

    def __init__(self, model: Any, X: Any, Y: Any) -> None:
        super().__init__(model, X, Y)
        self.method = next(name for name in ANSWERS if hasattr(model, name))
        self.fitted = False  # as far as is known; an answer shows it
        self.ones, self.known = np.zeros((2, self.Y.shape[1]))

    def score_rows(self, rows: slice) -> Floats:
        """Return the scores of some rows."""
        answer = getattr(self.model, self.method)(take_rows(self.X, rows))
        table = read_answer(answer, self.model, self.Y.shape[1])
        if table is None or len(table) != rows.stop - rows.start:
            raise ValueError(
                f"{type(self.model).__name__}.{self.method} must give one number per row and "
                f"label; got {describe(answer)}."
            )
        self.fitted = True
        return table + 0.5 if self.method == "decision_function" else table

    def score(self, t: int) -> Floats:
        """Return the scores of row t."""
        try:
            return self.score_rows(slice(t, t + 1))[0]
        except Exception as error:
            unfitted = any(kind.__name__ == "NotFittedError" for kind in type(error).__mro__)
            if self.fitted or not unfitted:
                raise
        return self.ones / np.maximum(self.known, 1.0)

    def learn(self, t: int) -> None:
        """Learn row t if all its labels are known."""
        y = self.Y[t]
        known = ~np.isnan(y)
        self.ones[known] += y[known]
        self.known += known
        if known.all():
            labels = y.astype(int) if self.flat else y.astype(int).reshape(1, -1)
            keywords = {} if self.fitted else self._classes()
            self.model.partial_fit(take_rows(self.X, slice(t, t + 1)), labels, **keywords)
            self.fitted = True

    def _classes(self) -> dict[str, Any]:
        """Return what the first call of ``partial_fit`` wants to know about the labels."""
        if "classes" not in inspect.signature(self.model.partial_fit).parameters:
            return {}
        n_labels, both = self.Y.shape[1], np.array([0, 1])
        if self.flat:
            return {"classes": both}
        if hasattr(self.model, "estimator") or hasattr(self.model, "base_estimator"):
            return {"classes": [both] * n_labels}  # one model per label
        return {"classes": np.arange(n_labels)}


class RiverModel(Adapter):
    """A river model, or one that looks like it: dictionaries in, dictionaries out.

    Features and labels are called by their columns in a DataFrame, else by their numbers. Labels
    are True and False; unknown ones are not passed. A row without any is passed to models that want
    to know of it. A label that the model does not mention counts as not predicted: its score is 0.
    """

    def __init__(self, model: Any, X: Any, Y: Any) -> None:
        super().__init__(model, X, Y)
        self.probabilities = hasattr(model, "predict_proba_one")
        self.asked = False

    def score_rows(self, rows: slice) -> Floats:
        """Return the scores of some rows."""
        return np.array([self.score(t) for t in range(rows.start, rows.stop)])

    def row(self, t: int) -> dict[Any, Any]:
        """Return the features of one row as a dictionary, None where one is missing."""
        if is_sparse(self.X):  # what is not there is 0, for river's models as well
            row = self.X[t : t + 1].tocoo()
            pairs = zip(row.col.tolist(), row.data.tolist(), strict=True)
            names = self.feature_names
            return {names[column]: None if np.isnan(value) else value for column, value in pairs}
        values = np.array(take_rows(self.X, slice(t, t + 1)), dtype=object)
        values[pd.isna(values)] = None
        return dict(zip(self.feature_names, values[0].tolist(), strict=True))

    def _ask(self, x: dict[Any, Any]) -> Any:
        first, self.asked = not self.asked, True
        if self.probabilities:
            try:
                return self.model.predict_proba_one(x)
            except (NotImplementedError, AttributeError) as error:
                # A pipeline has the method even if its last step has not.
                if isinstance(error, AttributeError) and not first:
                    raise
                self.probabilities = False
        return self.model.predict_one(x)

    def score(self, t: int) -> Floats:
        """Return the scores of row t: of every label the share of True, or whether it is said."""
        answer = self._ask(self.row(t))
        answer = {} if answer is None else answer
        if not hasattr(answer, "get"):
            raise ValueError(
                f"{type(self.model).__name__} must answer with a dictionary of labels; "
                f"got {describe(answer)}."
            )
        labels: list[Any] = [answer.get(name) for name in self.label_names]
        scores = [label.get(True) if hasattr(label, "get") else label for label in labels]
        return np.array([0.0 if score is None else float(score) for score in scores])

    def learn(self, t: int) -> None:
        """Learn the known labels of row t."""
        labels = zip(self.label_names, self.Y[t].tolist(), strict=True)
        known = {name: value == 1.0 for name, value in labels if value in (0.0, 1.0)}
        if known or getattr(self.model, "counts_unlabelled", False):
            self.model.learn_one(self.row(t), known)


def read_answer(answer: Any, model: Any, n_labels: int) -> Floats | None:
    """Return an answer as an (n, K) array of floats, or None if it has another shape.

    A list of arrays has one item per label: (n, 2) probabilities or (n,) numbers. Of a single
    column of probabilities the only class that was seen is the owner.
    """
    if isinstance(answer, list) and all(isinstance(part, np.ndarray) for part in answer):
        columns = []
        for c, part in enumerate(answer):
            if part.ndim == 2 and part.shape[1] == 2:
                part = part[:, 1]
            elif part.ndim == 2 and part.shape[1] == 1 and hasattr(model, "classes_"):
                part = part[:, 0] * float(model.classes_[c][0])
            columns.append(part)
        whole = len(columns) == n_labels and all(part.ndim == 1 for part in columns)
        return np.stack(columns, axis=1).astype(np.float64) if whole else None
    table = np.asarray(answer, dtype=np.float64)
    if n_labels == 1 and table.ndim == 1:
        return table[:, None]
    if n_labels == 1 and table.ndim == 2 and table.shape[1] == 2:
        return table[:, 1:]
    return table if table.ndim == 2 and table.shape[1] == n_labels else None


def describe(answer: Any) -> str:
    """Name what came instead of an answer."""
    kind = type(answer).__name__
    return f"{kind} of shape {answer.shape}" if hasattr(answer, "shape") else kind


def find_adapter(model: Any, *, learn: bool) -> type[RiverModel | PartialFitModel]:
    """Return the class of the adapter for a model, by its methods."""
    if hasattr(model, "predict_one") and (hasattr(model, "learn_one") or not learn):
        return RiverModel
    answers = any(hasattr(model, name) for name in ANSWERS)
    if answers and (hasattr(model, "partial_fit") or not learn):
        return PartialFitModel
    wanted = "begin_stream, partial_fit or learn_one" if learn else "predict or predict_one"
    raise TypeError(f"prequential needs a model with {wanted}; got {type(model).__name__}.")


def run_rows(adapter: Any, trace: Trace, learn: bool, delay: int, block: slice) -> None:
    """Score the rows of a block, and learn those that are ``delay`` rows older."""
    n = len(trace.scores)
    if not learn:
        trace.scores[block] = refuse_nan(adapter.score_rows(block), adapter.model)
        return
    for t in range(block.start, block.stop):
        trace.scores[t] = refuse_nan(adapter.score(t), adapter.model)
        if t >= delay:
            adapter.learn(t - delay)
    if block.stop == n:
        for t in range(max(n - delay, 0), n):
            adapter.learn(t)


def refuse_nan(scores: Floats, model: Any) -> Floats:
    """Return scores that are numbers."""
    if np.isnan(scores).any():
        raise ValueError(f"{type(model).__name__} answered NaN: its scores cannot be ranked.")
    return scores
