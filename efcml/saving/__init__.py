"""Model files: one .npz of plain arrays and JSON, checked before anything is believed.

Whatever learns has four members by which it is saved, and nothing else of it is known here:
``state()`` gives facts and arrays, ``state_shapes(facts)`` says which arrays these facts ask for,
``check_state(facts, arrays)`` refuses values that no state can have, and ``from_state`` builds it.
`pack`, `expected` and `unpack` turn a model into what goes into a file and back, alone or as a part
of something larger; `write_archive` and `read_archive` are the file beneath (docs/saving.md).
"""

from __future__ import annotations

import sys
from pkgutil import resolve_name
from types import NoneType
from typing import TYPE_CHECKING, Any

from efcml.saving import faces
from efcml.saving.archive import read_archive, refusing, write_archive
from efcml.support.facts import shorten, take
from efcml.support.states import nest, pick

if TYPE_CHECKING:
    from efcml.support.aliases import Arrays, Facts, PathLike, Shapes, State
    from efcml.tables import TableEncoder

__all__ = [
    *("expected", "load", "load_fitted", "nest", "pack", "pick", "read_archive", "refusing"),
    *("save", "take", "unpack", "write_archive"),
]

# Where the learner of each class is. Loaded when needed: a file that is refused needs no numba.
LEARNERS = {
    "EFCMLClassifier": "efcml.model.learner:Learner",
    "OneVsRestEFC": "efcml.rivals.per_label:OneVsRestLearner",
    "ChainEFC": "efcml.rivals.per_label:ChainLearner",
    "RiverEFCML": "efcml.model.learner:Learner",
    "ActiveLearner": "efcml.active.state:ActiveState",
}
NO_TABLES = ("RiverEFCML", "ActiveLearner")


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
    """
    facts, arrays = pack(model, table)
    write_archive(path, {"kind": "model", "content": facts}, arrays)


def load(path: PathLike) -> Any:
    """Return the model of a file that `save` wrote; it goes on bit for bit.

    A file that is foreign, broken or inconsistent is refused with a ValueError that says why.
    """
    header, arrays = read_archive(path, expect_model)
    with refusing(path):
        return unpack(header["content"], arrays)


def load_fitted(path: PathLike) -> tuple[str, dict[str, Any] | None]:
    """Return the class in a file and, without scikit-learn, what its estimator has learned.

    That is ``{attribute: value}`` with its ``learner_``, empty if it is new, or None if the class
    is none of the estimators for tables.
    """
    header, arrays = read_archive(path, expect_model)
    facts = header["content"]
    if facts["class"] in NO_TABLES:
        return facts["class"], None
    with refusing(path):
        return facts["class"], faces.attributes(facts["face"], unpack_learner(facts, arrays))


def expect_model(header: Facts) -> Shapes:
    """Return the arrays that the header of a model file asks for."""
    if header["kind"] != "model":
        raise ValueError(f"it holds a {header['kind']}, not a model")
    return expected(header["content"])


def pack(model: Any, table: TableEncoder | None = None) -> State:
    """Return facts of a model, which JSON can hold, and arrays; `unpack` takes them back."""
    name = type(model).__name__
    source = sys.modules.get("efcml.compat.river" if name == "RiverEFCML" else "efcml")
    if name not in LEARNERS or getattr(source, name, None) is not type(model):
        raise TypeError(f"only {', '.join(LEARNERS)} can be saved; got {name}.")
    if table is not None and name in NO_TABLES:
        raise ValueError(f"a {name} has no table: save it without.")
    face, learner = faces.pack(model, table)
    state = (None, {}) if learner is None else resolve_name(LEARNERS[name]).state(learner)
    facts, arrays = {"class": name, "face": face, "learner": state[0]}, nest(learner=state[1])
    try:  # what could not be read is not written
        expected(facts)
        faces.unpack(name, face, learner)
        if learner is not None:
            resolve_name(LEARNERS[name]).check_state(*state)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be saved: {shorten(error)}.") from None
    return facts, arrays


def expected(facts: Any) -> Shapes:
    """Return ``{name: (dtype, shape)}`` of the arrays of a model with these facts, or refuse."""
    take(facts, "the model", **{"class": str, "face": dict, "learner": (dict, NoneType)})
    if facts["class"] not in LEARNERS:
        raise ValueError("it holds no model of a known class")
    if facts["learner"] is None:
        return {}
    return nest(learner=resolve_name(LEARNERS[facts["class"]]).state_shapes(facts["learner"]))


def unpack(facts: Facts, arrays: Arrays) -> Any:
    """Return the model that `pack` was given; facts and shapes must have passed `expected`."""
    return faces.unpack(facts["class"], facts["face"], unpack_learner(facts, arrays))


def unpack_learner(facts: Facts, arrays: Arrays) -> Any:
    """Return the learner of a model, its values checked; None if the model is new."""
    if facts["learner"] is None:
        return None
    kind, arrays = resolve_name(LEARNERS[facts["class"]]), pick(arrays, "learner")
    kind.check_state(facts["learner"], arrays)
    return kind.from_state(facts["learner"], arrays)
