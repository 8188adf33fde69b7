"""Saved models, and rows for them, as ``predict`` and ``explain`` read them."""

import sys

from efcml.datasets.rows import read_rows

NAMES_SHOWN = 5


def read_model(path):
    """Return the fitted estimator in a file, or say why there is none."""
    from efcml.saving import load

    model = load(path)
    if not hasattr(model, "decision_function"):
        raise ValueError(f"the {type(model).__name__} in {path} does not predict tables: give the"
                         " file of an EFCMLClassifier, OneVsRestEFC or ChainEFC.")  # fmt: skip
    if not hasattr(model, "learner_"):
        raise ValueError(f"the {type(model).__name__} in {path} has learned nothing yet.")
    return model


def label_names(model):
    """Return the names of a model's labels, as `explain` gives them."""
    from efcml.reading import name_all

    return list(name_all(model.column_names()[1], "label", model.learner_.n_labels))


def tell_rules(rules, *, most=None, most_per_label=None):
    """Return the rules of a model in words, strongest first; at most so many of each rule base."""
    if not isinstance(rules, dict):
        return str(rules[:most])
    return "\n\n".join(f"{label}: {part[:most_per_label]}" for label, part in rules.items())


def read_features(model, path):
    """Return the rows of a file as the model wants them; tell of columns that are not used."""
    names = getattr(model, "feature_names_in_", None)
    X, ignored = read_rows(path, None if names is None else names.tolist())
    wanted = model.n_features_in_
    if X.shape[1] != wanted:
        raise ValueError(
            f"{path} has {X.shape[1]} columns, but the model takes {wanted} features and knows no"
            " names: give exactly these columns."
        )
    if ignored:
        more = ", ..." if len(ignored) > NAMES_SHOWN else ""
        print(f"efcml: note: {len(ignored)} other column{'s' * (len(ignored) > 1)} of {path} not"
              f" used: {', '.join(ignored[:NAMES_SHOWN])}{more}", file=sys.stderr)  # fmt: skip
    return X
