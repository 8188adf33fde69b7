"""Model files: one .npz of plain arrays and JSON, checked before anything is believed.

A learner has four members by which it is saved, and nothing else of it is known here:
``state()`` gives facts and arrays, ``state_shapes(facts)`` says which arrays these facts ask for,
``check_state(facts, arrays)`` refuses values that no state can have, and ``from_state`` builds it.
`pack`, `expected` and `unpack` turn a model into what goes into a file and back, alone or as a part
of something larger; `write_archive` and `read_archive` are the file beneath (docs/saving.md). It is
what ``np.savez`` writes: the entry ``header`` is JSON as bytes, ``sha256`` is that of the header
and of all arrays, and every other entry is an array.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral
from pkgutil import resolve_name
from types import NoneType
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_STORED

import numpy as np
from numpy.lib.npyio import NpzFile

import efcml
from efcml.model.params import Parameters, read_relevance
from efcml.seams import name_of
from efcml.support.declared import facts_of
from efcml.support.files import replacing
from efcml.support.guard import lock_of
from efcml.support.states import nest, pick, shorten, take, to_plain
from efcml.tables.encoder import TableEncoder

if TYPE_CHECKING:
    from efcml.support.aliases import Array, Arrays, Facts, PathLike, Shapes, State

__all__ = [
    *("expected", "load", "nest", "pack", "pick", "read_archive", "save", "take", "unpack"),
    "write_archive",
]

FORMAT, FORMAT_VERSION = "efcml", 5
MOST_HEADER = 2**24  # bytes
HEADER, HASH = "header", "sha256"
OLDER = (
    "an earlier efcml wrote it, in a format that this one does not read: train the model again, or"
    " go on with the version that wrote it"
)
FACES = {
    "EFCMLClassifier": "efcml.estimators.classifier:EFCMLClassifier",
    "OneVsRestEFC": "efcml.rivals.per_label:OneVsRestEFC",
    "ChainEFC": "efcml.rivals.per_label:ChainEFC",
    "RiverEFCML": "efcml.compat.river:RiverEFCML",
    "ActiveLearner": "efcml.active.active_learner:ActiveLearner",
}
PER_LABEL = ("OneVsRestEFC", "ChainEFC")  # a learner for each label
NAMES = ("label_names_", "feature_names_in_")
CLASS_TYPES = re.compile(r"[<>|][biuf][1248]|[<>]U\d{1,3}|\|O")


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

    def expect(header: Facts) -> Shapes:
        if header["kind"] != "model":
            raise ValueError(f"it holds a {header['kind']}, not a model")
        return expected(header["content"])

    header, arrays = read_archive(path, expect)
    with refusing(path):
        return unpack(header["content"], arrays)


# -- models as facts and arrays -------------------------------------------------------------


def pack(model: Any, table: TableEncoder | None = None) -> State:
    """Return facts of a model, which JSON can hold, and arrays; `unpack` takes them back."""
    name = type(model).__name__
    if name not in FACES or type(model).__module__ != FACES[name].partition(":")[0]:
        raise TypeError(f"only {', '.join(FACES)} can be saved; got {name}.")
    kind = learner_class(name)
    with lock_of(getattr(model, "learner_", model)):  # the learners of all labels at one moment
        face, learners = pack_face(name, model, table)
        states = [kind.state(learner) for learner in learners]
    facts: Facts = {"class": name, "face": face, "learners": [part for part, _ in states]}
    try:  # what could not be read is not written
        expected(facts)
        unpack_face(name, face, learners)
        for state in states:
            kind.check_state(*state)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be saved: {shorten(error)}.") from None
    parts = zip(places_of(facts), states, strict=True)
    return facts, nest(**{place: arrays for place, (_, arrays) in parts})


def expected(facts: Any) -> Shapes:
    """Return ``{name: (dtype, shape)}`` of the arrays of a model with these facts, or refuse."""
    take(facts, "the model", **{"class": str, "face": dict, "learners": list})
    if facts["class"] not in FACES:
        raise ValueError("it holds no model of a known class")
    kind, parts = learner_class(facts["class"]), places_of(facts)
    pairs = zip(parts, facts["learners"], strict=True)
    return nest(**{place: kind.state_shapes(part) for place, part in pairs})


def unpack(facts: Facts, arrays: Arrays) -> Any:
    """Return the model that `pack` was given; facts and shapes must have passed `expected`."""
    kind, learners = learner_class(facts["class"]), []
    for place, part in zip(places_of(facts), facts["learners"], strict=True):
        state = part, pick(arrays, place)
        kind.check_state(*state)
        learners.append(kind.from_state(*state))
    return unpack_face(facts["class"], facts["face"], learners)


def learner_class(name: str) -> Any:
    """Return the class whose members save and restore the learners of a class."""
    active = name == "ActiveLearner"
    home = "efcml.active.state:ActiveState" if active else "efcml.model.learner:Learner"
    return resolve_name(home)


def places_of(facts: Facts) -> list[str]:
    """Return the names under which the arrays of the learners stand."""
    count = len(facts["learners"])
    if facts["class"] in PER_LABEL:
        return [f"learner/{i}" for i in range(count)]
    if count > 1:
        raise ValueError(f"a {facts['class']} has one learner, not {count}")
    return ["learner"] * count


def pack_face(name: str, model: Any, table: TableEncoder | None) -> tuple[Facts, list[Any]]:
    """Return what a model has beside its learners, and these if it has learned anything."""
    if name in ("RiverEFCML", "ActiveLearner") and table is not None:
        raise ValueError(f"a {name} has no table: save it without.")
    if name == "ActiveLearner":
        return {}, [model]
    if name == "RiverEFCML":
        facts: Facts = {"features": [*model.feature_names], "labels": [*model.label_names]}
        facts["unknown"] = [[name, count] for name, count in model.unknown_features_.items()]
        facts["params"] = plain_parameters(model._get_params())
        return facts, [model.learner] if facts["labels"] else []
    facts = {"params": plain_parameters(model.get_params())}
    if not hasattr(model, "learner_"):
        return facts, []
    given, table = table, getattr(model, "table_", None) if table is None else table
    if table is not None:
        if not hasattr(table, "feature_names"):
            kind = type(table).__name__
            raise TypeError(f"table must be that of a data set, ds.table; got {kind}.")
        known = tuple(map(str, getattr(model, "feature_names_in_", table.feature_names)))
        if known != table.feature_names or len(known) != model.n_features_in_:
            if given is not None:
                raise ValueError(
                    "the table has other features than the model: give that of its data set."
                )
            table = None  # its own: it has been fitted to other columns since
    pair, encoding = model._pair, getattr(model, "_encoding", None)
    facts |= {
        "classes": None if pair is None else {"dtype": pair.dtype.str, "values": pair.tolist()},
        "groups": [[name, list(columns)] for name, columns in model._groups.items()],
        "categories": None if encoding is None else encoding.facts(),
        "table": None if table is None else table.facts(),
    }
    facts |= {name: [str(one) for one in getattr(model, name, ())] or None for name in NAMES}
    if name == "ChainEFC":
        facts["order"] = model.learner_.order.tolist()
    return facts, getattr(model.learner_, "models", [model.learner_])


def plain_parameters(params: Facts) -> Facts:
    """Return parameters as JSON can hold them, functions by their names, or refuse them."""
    seams = {name: facts.seam for name, facts in facts_of(Parameters).items() if facts.seam}
    plain = {name: to_plain(value) for name, value in params.items()}
    plain |= {name: name_of(seams[name], plain[name]) for name in seams.keys() & plain.keys()}
    if "stages" in plain:
        plain["stages"] = [name_of("stage", stage) for stage in plain["stages"]]
    for name, value in plain.items():
        listed = isinstance(value, list | tuple | np.ndarray) and name != "stages"
        unreal = isinstance(value, float) and not np.isfinite(value)
        if name == "relevance" and listed:
            plain[name] = [*read_relevance(value)]
        elif listed and all(isinstance(one, Integral) for one in value):
            plain[name] = [int(one) for one in value]  # the order of a chain
        elif name != "stages" and type(value) not in (NoneType, bool, int, float, str) or unreal:
            raise ValueError(
                f"{name}={value!r} cannot be saved: set it to a number, a word or None before."
            )
    return plain


def unpack_face(name: str, facts: Facts, learners: list[Any]) -> Any:
    """Return the model of a class with these facts and learners, or refuse the facts."""
    learner = learners[0] if learners else None
    if name == "ActiveLearner":
        return learner
    params = facts["params"]
    params = params | {"stages": tuple(params["stages"])} if "stages" in params else params
    model = resolve_name(FACES[name])(**params)
    if name == "RiverEFCML":
        if learner is not None:
            check_names(facts["features"], "features", learner.n_features)
            check_names(facts["labels"], "labels", learner.n_labels)
            check_names([name for name, _ in facts["unknown"]], "unknown", len(facts["unknown"]))
            model.take_state(learner, facts["features"], facts["labels"], facts["unknown"])
        return model
    if params.keys() != model.get_params().keys():
        raise ValueError(f"the parameters are not those of {name}")
    if name in PER_LABEL and learners:
        kind: Any = resolve_name("efcml.rivals.per_label:PerLabelLearner")
        learner = kind.join(learners, facts["order"] if name == "ChainEFC" else None)
    if learner is not None:
        give_learner(model, facts, learner)
    return model


def give_learner(model: Any, facts: Facts, learner: Any) -> None:
    """Set what an estimator has learned."""
    p, classes = learner.n_features, facts["classes"]
    model.learner_, model.n_features_in_ = learner, p
    model._pair = None if classes is None else read_classes(**classes)
    if classes is not None and learner.n_labels != 1:
        raise ValueError(f"two classes are one label, not {learner.n_labels}")
    if facts["categories"] is not None:
        model._encoding = TableEncoder.from_facts(facts["categories"])
        model.n_features_in_ = len(model._encoding.columns)
        check_names(model._encoding.feature_names, "features of the categories", p)
    if facts["table"] is not None:
        model.table_ = TableEncoder.from_facts(facts["table"])
        check_names(model.table_.feature_names, "features of the table", model.n_features_in_)
    for name, count in zip(NAMES, (learner.n_labels, model.n_features_in_), strict=True):
        if facts[name] is not None:
            check_names(facts[name], name, count)
            setattr(model, name, np.array(facts[name], dtype=object))
    model._groups = {group: tuple(columns) for group, columns in facts["groups"]}
    places = [place for columns in model._groups.values() for place in columns]
    good = all(type(place) is int and 0 <= place < p for place in places)
    if not good or len(set(places)) < len(places):
        raise ValueError(f"places of columns must be among {p}, each once")


def check_names(names: Sequence[Any], what: str, count: int) -> None:
    """Refuse names that are not so many different words or whole numbers."""
    good = len(names) == count and all(type(name) in (str, int) for name in names)
    if not good or len({*names}) < count:
        raise ValueError(f"the names of {what} must be {count} words or whole numbers, each once")


def read_classes(dtype: str, values: list[Any]) -> Array:
    """Return the classes of a 1-D target, or refuse what cannot be some."""
    plain = CLASS_TYPES.fullmatch(dtype) and {*map(type, values)} <= {bool, int, float, str}
    if plain and len(values) in (1, 2) and len({*values}) == len(values):
        classes = np.array(values, dtype=dtype)
        if classes.tolist() == values:
            return classes
    raise ValueError(f"classes of the type {dtype} cannot be: one or two words or numbers can")


# -- files ----------------------------------------------------------------------------------


def write_archive(path: PathLike, header: Facts, arrays: Mapping[str, Array]) -> None:
    """Write a header and arrays to a file, which appears as a whole or stays as it was.

    The header has ``kind``, a word that says what the file holds, and ``content``, a dictionary
    that JSON can hold. Arrays hold numbers or flags.
    """
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    for name, array in arrays.items():
        if array.dtype.kind not in "fiub":
            raise ValueError(f"the array {name} of the type {array.dtype} cannot be saved.")
    whole = dict(header, format=FORMAT, format_version=FORMAT_VERSION)
    whole["efcml_version"] = efcml.__version__
    text = json.dumps(whole, sort_keys=True, allow_nan=False, default=np.generic.item).encode()
    parse_header(text)  # what could not be read is not written
    about = {HEADER: np.frombuffer(text, np.uint8), HASH: content_hash(text, arrays)}
    everything: dict[str, Any] = about | arrays
    with replacing(path) as file:
        np.savez(file, **everything)


def read_archive(path: PathLike, expect: Callable[[Facts], Shapes]) -> State:
    """Return header and arrays of a file, or refuse it with a ValueError that says why.

    ``expect`` gets the header, of which the content is not checked yet. It returns what the file
    must hold, ``{name: (dtype, shape)}``, or raises ValueError.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path} cannot be loaded: it is no file.")
    with open(path, "rb") as file, refusing(path), NpzFile(file, allow_pickle=False) as entries:
        size = os.fstat(file.fileno()).st_size
        if "header.json" in entries.files:
            raise ValueError(OLDER)
        if HEADER not in entries.files:
            raise ValueError("it was not written by efcml")
        zipped: Any = entries.zip
        if any(info.compress_type != ZIP_STORED for info in zipped.infolist()):
            raise ValueError("it was compressed by something else than efcml")
        text = entries[HEADER].tobytes()
        header = parse_header(text)
        shapes = expect(header)
        asked = sum(math.prod(shape) * np.dtype(kind).itemsize for kind, shape in shapes.values())
        if asked > size:
            raise ValueError(f"it has {size} bytes, and its header asks for {asked}")
        if sorted(entries.files) != sorted([HEADER, HASH, *shapes]):
            raise ValueError("its arrays are not those that its header asks for")
        arrays = {name: np.asarray(entries[name], order="C") for name in shapes}
        for name, array in arrays.items():
            if (array.dtype.str, array.shape) != shapes[name]:
                raise ValueError(f"the array {name} has another type or shape than it must have")
        if not np.array_equal(entries[HASH], content_hash(text, arrays)):
            raise ValueError("its contents do not have the sha256 that it states")
    return header, arrays


def parse_header(text: bytes) -> Facts:
    """Return the header as a dictionary, its frame checked."""
    if len(text) > MOST_HEADER:
        raise ValueError(f"a header of {len(text)} bytes is too long")
    try:
        header = json.loads(text.decode("ascii"), parse_constant=int)  # no NaN
    except (ValueError, RecursionError):
        raise ValueError("its header is no JSON") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError("its header is not one of efcml")
    version = header.get("format_version")
    if type(version) is int and version > FORMAT_VERSION:
        raise ValueError(f"a newer efcml wrote it (format {version}): upgrade efcml")
    if version != FORMAT_VERSION:
        raise ValueError(OLDER)
    kinds = {"format": str, "format_version": int, "efcml_version": str, "kind": str}
    return take(header, "the header", **kinds, content=dict)


def content_hash(text: bytes, arrays: Mapping[str, Array]) -> Array:
    """Return the sha256 over the header and the names, types, shapes and data of all arrays."""
    digest = hashlib.sha256(text)
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return np.frombuffer(digest.digest(), np.uint8)


@contextmanager
def refusing(path: PathLike) -> Iterator[None]:
    """Put the name of the file before the reason why it is refused."""
    try:
        yield
    except ValueError as error:
        reason = shorten(error)
    except Exception as error:  # whatever broken files make numpy, zipfile and models raise
        reason = f"it is damaged or no file of efcml ({type(error).__name__}: {shorten(error, 60)})"
    else:
        return
    raise ValueError(f"{path} cannot be loaded: {reason}.")
