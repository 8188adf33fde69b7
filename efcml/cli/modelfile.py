"""Saved models, and rows for them, as ``predict`` and ``explain`` read them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from efcml.support.aliases import Array, Floats

NAMES_SHOWN = 5


def read_model(path: Path) -> Any:
    """Return the fitted estimator in a file, or say why there is none."""
    from efcml.saving import load

    model = load(path)
    fitted = vars(model) if hasattr(model, "decision_function") else None
    check_fitted(path, type(model).__name__, fitted)
    return model


def read_fitted(path: Path) -> SimpleNamespace:
    """Return what the estimator in a file has learned, or say why there is none.

    It has the attributes of the estimator and none of its methods, so it is there in half the time.
    """
    from efcml.saving import load_fitted

    kind, fitted = load_fitted(path)
    return SimpleNamespace(**check_fitted(path, kind, fitted))


def check_fitted(path: Path, kind: str, fitted: dict[str, Any] | None) -> dict[str, Any]:
    """Return what was learned; refuse a file without an estimator, or one that is new."""
    if fitted is None:
        raise ValueError(
            f"the {kind} in {path} does not predict tables: give the file of an"
            " EFCMLClassifier, OneVsRestEFC or ChainEFC."
        )
    if "learner_" not in fitted:
        raise ValueError(f"the {kind} in {path} has learned nothing yet.")
    return fitted


def check_files(*paths: Path) -> None:
    """Refuse files that cannot be read, before anything is loaded that takes a second."""
    for path in paths:
        with open(path, "rb"):
            pass


def label_names(model: Any) -> list[str]:
    """Return the names of a model's labels, as `explain` gives them."""
    from efcml.explain.background import name_all, names_of_labels

    return list(name_all(names_of_labels(model), "label", model.learner_.n_labels))


def tell_rules(rules: Any, *, most: int | None = None, most_per_label: int | None = None) -> str:
    """Return the rules of a model in words; at most so many of each rule base."""
    if not isinstance(rules, dict):
        return str(rules[:most])
    return "\n\n".join(f"{label}: {part[:most_per_label]}" for label, part in rules.items())


def read_features(model: Any, path: Path, others: Collection[str] = ()) -> Array:
    """Return the rows of a file as the model wants them; tell of columns that are not used.

    ``others`` are columns that are used for something else.
    """
    from efcml.datasets.file_rows import read_rows
    from efcml.tables.raw_tables import read_raw

    table = getattr(model, "table_", None)
    if table is not None and path.suffix.lower() != ".arff":
        raw = read_raw(path)
        X = table.encode_raw(raw)
        columns = {column.name for column in table.columns} | {*others}
        tell_ignored(path, [name for name in raw.names if name not in columns])
        return X
    names = getattr(model, "feature_names_in_", None)
    names = None if names is None else names.tolist()
    values = categories_of(model)
    X, ignored = read_rows(path, names, [names[column] for column in values] if names else ())
    wanted = model.n_features_in_
    if X.shape[1] != wanted:
        raise ValueError(
            f"{path} has {X.shape[1]} columns, but the model takes {wanted} features and knows no"
            " names: give exactly these columns."
        )
    for column, some in values.items():  # a category may hold numbers
        known = {str(value): value for value in some}
        X[:, column] = [known.get(text, text) for text in X[:, column]]
    tell_ignored(path, [name for name in ignored if name not in others])
    return X


def tell_ignored(path: Path, ignored: Sequence[str]) -> None:
    """Say which columns of a file are not used."""
    if ignored:
        more = ", ..." if len(ignored) > NAMES_SHOWN else ""
        print(
            f"efcml: note: {len(ignored)} other column{'s' * (len(ignored) > 1)} of {path} not"
            f" used: {', '.join(ignored[:NAMES_SHOWN])}{more}",
            file=sys.stderr,
        )


def categories_of(model: Any) -> Mapping[int, Sequence[Any]]:
    """Return the values of the columns that are categories, by column."""
    encoding = getattr(model, "_encoding", None)
    return {} if encoding is None else encoding.values


def to_numbers(model: Any, X: Array) -> Floats:
    """Return rows of `read_features` as a model's learner takes them."""
    if not categories_of(model):
        return X
    return model._encoding.spread(model._encoding.put_codes(X).astype(float))
