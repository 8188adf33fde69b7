"""save and load: a model in one file that holds no code."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from efcml.saving.archive import read_archive, refusing, write_archive

if TYPE_CHECKING:
    from types import ModuleType

    from efcml.support.aliases import Arrays, Facts, PathLike, Shapes, State
    from efcml.tables import TableEncoder

# Loaded when a model needs them: a file that is refused needs no numba.
HOMES = {
    "EFCMLClassifier": "efcml.saving.tabular",
    "OneVsRestEFC": "efcml.saving.tabular",
    "ChainEFC": "efcml.saving.tabular",
    "RiverEFCML": "efcml.saving.rivers",
    "ActiveLearner": "efcml.saving.actives",
}


def save(model: Any, path: PathLike, *, table: TableEncoder | None = None) -> None:
    """Write a model to a file, with all it needs to go on learning.

    The file appears as a whole: if anything fails, an older one stays as it was. Nothing in it is
    code; ``numpy.load`` can read its arrays.

    Parameters
    ----------
    model : EFCMLClassifier, OneVsRestEFC, ChainEFC, RiverEFCML or ActiveLearner
        Fitted, in its warm-up, or new.
    path : str or path-like
        By custom it ends in ``.npz``.
    table : TableEncoder, optional
        ``ds.table`` of the data set that the model has learned. With it, ``efcml predict`` and
        ``efcml explain`` take files as the first one was. `load` gives it back as ``table_``, and
        a model that has one keeps it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from efcml import EFCMLClassifier, datasets, load, save
    >>> ds = datasets.load("drifting-clusters", n=300, n_initial=200)
    >>> clf = EFCMLClassifier(prior=1.0).fit(*ds.initial)
    >>> with TemporaryDirectory() as folder:
    ...     save(clf, f"{folder}/model.npz")
    ...     copy = load(f"{folder}/model.npz")
    >>> bool((copy.predict(ds.X) == clf.predict(ds.X)).all())
    True
    """
    facts, arrays = pack(model, table)
    write_archive(path, {"kind": "model", "content": facts}, arrays)


def load(path: PathLike) -> Any:
    """Return the model of a file that `save` wrote; it goes on bit for bit.

    A file that is foreign, broken or inconsistent is refused with a ValueError that says why.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    EFCMLClassifier, OneVsRestEFC, ChainEFC, RiverEFCML or ActiveLearner
    """
    header, arrays = read_archive(path, expect_model)
    with refusing(path):
        return unpack(header["content"], arrays)


def load_fitted(path: PathLike) -> tuple[str, dict[str, Any] | None]:
    """Return the name of the class in a file of `save`, and what the estimator has learned.

    That is ``{attribute: value}`` with its ``learner_``, empty if it is new, and None if the class
    is none of the estimators for tables. scikit-learn is not loaded.
    """
    header, arrays = read_archive(path, expect_model)
    facts = header["content"]
    home = import_module(HOMES[facts["class"]])
    if not hasattr(home, "unpack_fitted"):
        return facts["class"], None
    with refusing(path):
        home.check(facts, arrays)
        return facts["class"], home.unpack_fitted(facts, arrays)


def expect_model(header: Facts) -> Shapes:
    """Return the arrays that the header of a model file asks for."""
    if header["kind"] != "model":
        raise ValueError(f"it holds a {header['kind']}, not a model")
    return expected(header["content"])


def pack(model: Any, table: TableEncoder | None = None) -> State:
    """Return the facts of a model, which JSON can hold, and its arrays; `unpack` takes them back.

    Values that `unpack` would refuse are refused here.
    """
    home = home_of(model)
    if table is not None and not hasattr(home, "unpack_fitted"):
        raise ValueError(f"a {type(model).__name__} has no table: save it without.")
    facts, arrays = home.pack(model) if table is None else home.pack(model, table)
    try:
        home.shapes(facts)
        home.check(facts, arrays)
    except ValueError as error:
        raise ValueError(f"{type(model).__name__} cannot be saved: {error}.") from None
    return facts, arrays


def expected(facts: Any) -> Shapes:
    """Return ``{name: (dtype, shape)}`` of the arrays of a model with these facts, or refuse them.

    Only ValueError is raised, whatever the facts are.
    """
    name = facts.get("class") if isinstance(facts, dict) else None
    if not isinstance(name, str) or name not in HOMES:
        raise ValueError("it holds no model of a known class")
    return import_module(HOMES[name]).shapes(facts)


def unpack(facts: Facts, arrays: Arrays) -> Any:
    """Return the model that `pack` was given; facts and shapes must have passed `expected`."""
    home = import_module(HOMES[facts["class"]])
    home.check(facts, arrays)
    return home.unpack(facts, arrays)


def home_of(model: Any) -> ModuleType:
    """Return the module that packs a model, or say that there is none."""
    name = type(model).__name__
    home = "efcml.compat.river" if name == "RiverEFCML" else "efcml"
    # Who has an object has loaded its class.
    if name in HOMES and getattr(sys.modules.get(home), name, None) is type(model):
        return import_module(HOMES[name])
    raise TypeError(f"only {', '.join(HOMES)} can be saved; got {name}.")
