"""Model files: one .npz of plain arrays and JSON, checked before anything is believed.

A learner has two members by which it is saved, and nothing else of it is known here: ``state()``
gives facts and arrays; ``from_state`` builds it, or refuses them. A file (docs/command_line.md) is
what ``np.savez`` writes: the entry ``header`` is JSON as bytes, ``sha256`` is that of the header
and of all arrays, and every other entry is an array.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pkgutil import resolve_name
from typing import Any
from zipfile import ZIP_STORED

import numpy as np
from numpy.lib.npyio import NpzFile

import efcml
from efcml.model.learner import Learner
from efcml.model.learner_checks import plain_parameters, with_plain
from efcml.support.aliases import Array, Arrays, Facts, PathLike, State
from efcml.support.files import replacing
from efcml.support.guard import lock_of
from efcml.support.states import fitting, nest, pick, shorten, take
from efcml.tables.encoder import TableEncoder

FORMAT_VERSION = 6
HEADER, HASH = "header", "sha256"
OLDER = (
    "an earlier efcml wrote it, in a format that this one does not read: train the model again, or"
    " go on with the version that wrote it"
)
CLASSES = {
    "EFCMLClassifier": "efcml.estimators.classifier:EFCMLClassifier",
    "OneVsRestEFC": "efcml.rivals.per_label:OneVsRestEFC",
    "ChainEFC": "efcml.rivals.per_label:ChainEFC",
    "ActiveLearner": "efcml.active.active_learner:ActiveLearner",
}
PER_LABEL = ("OneVsRestEFC", "ChainEFC")  # a learner for each label
NAMES = ("label_names_", "feature_names_in_")


def save(model: Any, path: PathLike, *, table: TableEncoder | None = None) -> None:
    """Write a model to a file, with all it needs to go on learning.

    The file appears as a whole: if anything fails, an older one stays as it was. Nothing in it is
    code; ``numpy.load`` can read its arrays.

    Parameters
    ----------
    model : EFCMLClassifier, OneVsRestEFC, ChainEFC or ActiveLearner
        Fitted, in its warm-up, or new.
    path : str or path-like
        By custom it ends in ``.npz``.
    table : TableEncoder, optional
        ``ds.table`` of the data set that the model has learned. With it, ``efcml predict`` and
        ``efcml explain`` take files as the first one was. `load` gives it back as ``table_``, and
        a model that has one keeps it.
    """
    facts, arrays = pack(model, table)
    try:  # what could not be read is not written
        unpack(json.loads(json.dumps(facts)), arrays)
    except (TypeError, ValueError) as error:
        name = type(model).__name__
        raise ValueError(f"{name} cannot be saved: {shorten(error)}.") from None
    write(path, facts, arrays)


def write(path: PathLike, facts: Facts, arrays: Arrays) -> None:
    """Write facts and arrays to a file, which appears as a whole or stays as it was."""
    header = {"format": "efcml", "format_version": FORMAT_VERSION}
    header |= {"efcml_version": efcml.__version__, "content": facts}
    text = json.dumps(header, sort_keys=True).encode()
    about = {HEADER: np.frombuffer(text, np.uint8), HASH: content_hash(text, arrays)}
    everything: dict[str, Any] = about | arrays
    with replacing(path) as file:
        np.savez(file, **everything)


def load(path: PathLike) -> Any:
    """Return the model of a file that `save` wrote; it goes on bit for bit.

    A file that is foreign, broken or inconsistent is refused with a ValueError that says why.
    """
    return read(path, unpack)


def read(path: PathLike, make: Callable[[Facts, Arrays], Any]) -> Any:
    """Return what is made of the facts and arrays in a file that `write` wrote."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path} cannot be loaded: it is no file.")
    with open(path, "rb") as file:
        try:
            with NpzFile(file, allow_pickle=False) as entries:
                return make(*read_entries(entries))
        except ValueError as error:
            reason = shorten(error)
        except Exception as error:  # whatever broken files make numpy, zipfile and models raise
            reason = f"{type(error).__name__}: {shorten(error, 60)}"
            reason = f"it is damaged or no file of efcml ({reason})"
    raise ValueError(f"{path} cannot be loaded: {reason}.")


def read_entries(entries: NpzFile) -> State:
    """Return facts and arrays, or refuse what is in the file."""
    zipped: Any = entries.zip
    if "header.json" in entries.files:
        raise ValueError(OLDER)
    if HEADER not in entries.files:
        raise ValueError("it was not written by efcml")
    if any(info.compress_type != ZIP_STORED for info in zipped.infolist()):
        raise ValueError("it was compressed by something else than efcml")
    text = entries[HEADER].tobytes()
    header = json.loads(text)
    version = header["format_version"]
    if version > FORMAT_VERSION:
        raise ValueError(f"a newer efcml wrote it (format {version}): upgrade efcml")
    if version != FORMAT_VERSION:
        raise ValueError(OLDER)
    names = sorted({*entries.files} - {HEADER, HASH})
    arrays = {name: np.asarray(entries[name], order="C") for name in names}
    if not np.array_equal(entries[HASH], content_hash(text, arrays)):
        raise ValueError("its contents do not have the sha256 that it states")
    return header["content"], arrays


def content_hash(text: bytes, arrays: Mapping[str, Array]) -> Array:
    """Return the sha256 over the header and the names, types, shapes and data of all arrays."""
    digest = hashlib.sha256(text)
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return np.frombuffer(digest.digest(), np.uint8)


def pack(model: Any, table: TableEncoder | None = None) -> State:
    """Return facts of a model, which JSON can hold, and arrays; `unpack` takes them back."""
    name = type(model).__name__
    if name not in CLASSES or type(model).__module__ != CLASSES[name].partition(":")[0]:
        raise TypeError(f"only {', '.join(CLASSES)} can be saved; got {name}.")
    if name == "ActiveLearner" and table is not None:
        raise ValueError("an ActiveLearner has no table: save it without.")
    with lock_of(getattr(model, "learner_", model)):  # the learners of all labels at one moment
        face, learners = pack_face(name, model, table)
        states = [learner.state() for learner in learners]
    facts: Facts = {"class": name, "face": face, "learners": [part for part, _ in states]}
    parts = zip(places_of(facts), states, strict=True)
    return facts, nest(**{place: arrays for place, (_, arrays) in parts})


def unpack(facts: Facts, arrays: Arrays) -> Any:
    """Return the model that `pack` was given, or refuse what no model has."""
    parts = zip(places_of(facts), facts["learners"], strict=True)
    learners = {place: Learner.from_state(part, pick(arrays, place)) for place, part in parts}
    fitting(arrays, nest(**{place: learner.state()[1] for place, learner in learners.items()}))
    return unpack_face(facts["class"], facts["face"], [*learners.values()])


def places_of(facts: Facts) -> list[str]:
    """Return the names under which the arrays of the learners stand."""
    take(facts, "the model", **{"class": str, "face": dict, "learners": list})
    count = len(facts["learners"])
    if facts["class"] in PER_LABEL:
        return [f"learner/{i}" for i in range(count)]
    if facts["class"] not in CLASSES or count > 1:
        raise ValueError(f"it holds no model of a known class with {count} learners")
    return ["learner"] * count


def pack_face(name: str, model: Any, table: TableEncoder | None) -> tuple[Facts, list[Any]]:
    """Return what a model has beside its learners, and these if it has learned anything."""
    if name == "ActiveLearner":
        return model.facts(), []
    facts: Facts = {"params": plain_parameters(model.get_params())}
    if not hasattr(model, "learner_"):
        return facts, []
    pair, names = model._pair, getattr(model, "feature_names_in_", None)
    if table is not None and (
        (names is not None and (*map(str, names),) != table.feature_names)
        or len(table.feature_names) != model.n_features_in_
    ):
        raise ValueError("the table has other features than the model: give that of its data set.")
    table = table or getattr(model, "table_", None)
    facts |= {
        "classes": None if pair is None else {"dtype": pair.dtype.str, "values": pair.tolist()},
        "table": None if table is None else asdict(table),
    }
    facts |= {name: [str(one) for one in getattr(model, name, ())] or None for name in NAMES}
    if name == "ChainEFC":
        facts["order"] = model.learner_.order.tolist()
    return facts, getattr(model.learner_, "models", [model.learner_])


def unpack_face(name: str, facts: Facts, learners: list[Any]) -> Any:
    """Return the model of a class with these facts and learners, or refuse the facts."""
    kind = resolve_name(CLASSES[name])
    if name == "ActiveLearner":
        return kind.from_facts(facts)
    model = with_plain(kind, facts["params"])
    if not learners:
        return model
    learner = learners[0]
    if name in PER_LABEL:
        join: Any = resolve_name("efcml.rivals.per_label:PerLabelLearner.join")
        learner = join(learners, facts.get("order"))
    model.learner_, model.n_features_in_ = learner, learner.n_features
    classes = facts["classes"]
    model._pair = None if classes is None else np.array(classes["values"], classes["dtype"])
    if facts["table"] is not None:
        model.table_ = TableEncoder.from_facts(facts["table"])
        check_names(model.table_.feature_names, "features of the table", model.n_features_in_)
    for name, count in zip(NAMES, (learner.n_labels, model.n_features_in_), strict=True):
        if facts[name] is not None:
            check_names(facts[name], name, count)
            setattr(model, name, np.array(facts[name], dtype=object))
    return model


def check_names(names: Sequence[Any], what: str, count: int) -> None:
    """Refuse names that are not so many different words."""
    if len(names) != count or len({*names}) < count or {*map(type, names)} - {str}:
        raise ValueError(f"the names of {what} must be {count} words, each once")
