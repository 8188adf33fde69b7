"""Models with scikit-learn's methods, row by row in Python, and the steps of pipelines before them.

They are told apart by their methods; none of their packages is imported.
"""

from typing import Any

import numpy as np

from efcml.estimators.targets import as_array, read_labels
from efcml.model.trace import Trace
from efcml.support.aliases import Floats
from efcml.support.masks import is_sparse, refuse_mask

ANSWERS = ("decision_function", "predict_proba", "predict")


def last_step(model: Any) -> Any:
    """Return the model at the end of a pipeline; any other model as it is."""
    return last_step(model.steps[-1][1]) if hasattr(model, "steps") else model


def pass_steps(model: Any, X: Any) -> Any:
    """Return rows as the steps of a pipeline before its last one make them."""
    while hasattr(model, "steps"):
        for _, step in model.steps[:-1]:
            X = step.transform(X) if step not in (None, "passthrough") else X
        model = model.steps[-1][1]
    return X


def take_rows(X: Any, rows: Any) -> Any:
    """Return rows of a table by a slice, their numbers or a mask; of a list by their numbers."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows]


class ForeignPass:
    """A model and the rows of its stream. What features may hold is the model's own matter.

    Scores are continuous with 0.5 as the threshold. Labels are passed as integers, in the shape in
    which they were given. A row that lacks a label is not learned.
    """

    def __init__(self, model: Any, X: Any, Y: Any) -> None:
        """Check shapes and labels; one line says what is wrong."""
        y = as_array(Y)
        if y.ndim not in (1, 2) or 0 in y.shape[1:]:
            raise ValueError(f"Y must have the shape (rows, labels) or (rows,); got {y.shape}.")
        labels = read_labels(y.reshape(len(y), -1))
        if not hasattr(X, "iloc") and not is_sparse(X):
            X = np.asarray(refuse_mask(X, "X"))
        if len(X.shape) != 2 or X.shape[1] == 0:
            raise ValueError(f"X must have the shape (rows, features); got {X.shape}.")
        if X.shape[0] != len(labels):
            numbers = f"{X.shape[0]} and {len(labels)}"
            raise ValueError(f"X and Y have inconsistent numbers of rows: {numbers}.")
        self.model, self.X, self.Y = model, X, labels
        self.flat = y.ndim == 1  # as labels were given
        self.method = next(name for name in ANSWERS if hasattr(model, name))

    def score(self, rows: slice) -> Floats:
        """Return the scores of some rows."""
        answer = getattr(self.model, self.method)(take_rows(self.X, rows))
        table, name = read_answer(answer, self.model, self.Y.shape[1]), type(self.model).__name__
        if table is None or len(table) != rows.stop - rows.start:
            kind = type(answer).__name__
            got = f"{kind} of shape {answer.shape}" if hasattr(answer, "shape") else kind
            raise ValueError(
                f"{name}.{self.method} must give one number per row and label; got {got}."
            )
        if np.isnan(table).any():
            raise ValueError(f"{name} answered NaN: its scores cannot be ranked.")
        return table + 0.5 if self.method == "decision_function" else table

    def learn(self, t: int) -> None:
        """Learn row t if all its labels are known."""
        if not np.isnan(self.Y[t]).any():
            labels = self.Y[t].astype(int)
            row = take_rows(self.X, slice(t, t + 1))
            self.model.partial_fit(row, labels if self.flat else labels[None])

    def run(self, trace: Trace, learn: bool, delay: int, block: slice) -> None:
        """Score the rows of a block, and learn those that are ``delay`` rows older."""
        if not learn:
            trace.scores[block] = self.score(block)
            return
        for t in range(block.start, block.stop):
            trace.scores[t] = self.score(slice(t, t + 1))[0]
            if t >= delay:
                self.learn(t - delay)
        if block.stop == len(self.Y):
            for t in range(max(block.stop - delay, 0), block.stop):
                self.learn(t)


def read_answer(answer: Any, model: Any, n_labels: int) -> Floats | None:
    """Return an answer as an (n, K) array of floats, or None if it has another shape.

    A list of arrays has one item per label: (n, 2) probabilities or (n,) numbers.
    """
    classes: Any = getattr(model, "classes_", None)
    if isinstance(answer, list) and all(isinstance(part, np.ndarray) for part in answer):
        of_each = [None] * len(answer) if classes is None else classes
        columns = [read_column(*pair) for pair in zip(answer, of_each, strict=True)]
        whole = len(columns) == n_labels and all(column.ndim == 1 for column in columns)
        return np.stack(columns, axis=1).astype(np.float64) if whole else None
    table = np.asarray(answer, dtype=np.float64)
    if n_labels == 1 and table.ndim in (1, 2):
        table = read_column(table, classes)
        table = table[:, None] if table.ndim == 1 else table
    return table if table.ndim == 2 and table.shape[1] == n_labels else None


def read_column(part: Any, classes: Any) -> Any:
    """Return the numbers of one label (n,); shares of a single class, all 1, as that class."""
    if part.ndim == 2 and np.shape(classes) == (1,) and np.allclose(part.sum(axis=1), 1.0):
        return np.full(len(part), float(classes[0]))
    return part[:, 1] if part.ndim == 2 and part.shape[1] == 2 else part
