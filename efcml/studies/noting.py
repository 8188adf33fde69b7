"""What a run keeps of its model besides the result: a function of the user says it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.studies.variants import ADDRESS
from efcml.support.states import fingerprint

if TYPE_CHECKING:
    from efcml.evaluation import PrequentialResult
    from efcml.support.aliases import Facts

    Note = Callable[[Any, PrequentialResult], Facts]

PLAIN = (str, int, float, bool, type(None))


def take_note(note: Note, model: Any, result: PrequentialResult) -> Facts:
    """Return what is noted of a run; refuse what would not come back from JSON as it was."""
    found = note(model, result)
    if not isinstance(found, dict) or not is_plain(found):
        raise TypeError(
            f"note must return a dict of numbers and words, by words, also in lists and dicts; got"
            f" {found!r:.60}."
        )
    return found


def is_plain(value: Any) -> bool:
    """Tell whether JSON gives a value back as it was."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_plain(value[key]) for key in value)
    if isinstance(value, list):
        return all(map(is_plain, value))
    return isinstance(value, PLAIN)


def describe_note(note: Any) -> str:
    """Return a text that changes with what a function does itself, and with what it holds.

    Not with functions and constants of its module that it uses. Code is read as compiled: there is
    not always a source.
    """
    parts: list[Any] = []
    while isinstance(note, partial):
        parts += [note.args, *note.keywords.items()]
        note = note.func
    function = note if hasattr(note, "__code__") else note.__call__
    code = getattr(function, "__code__", None)
    if code is not None:
        held = (cell.cell_contents for cell in function.__closure__ or ())
        parts += [code, function.__defaults__, function.__kwdefaults__, *held]
        note = getattr(function, "__self__", note)
    return hashlib.sha256(repr(parts_of([note, *parts])).encode()).hexdigest()[:12]


def parts_of(value: Any) -> Any:
    """Return what tells something that a function consists of, or holds, from something else."""
    if isinstance(value, list | tuple):
        return [parts_of(part) for part in value]
    if isinstance(value, dict):
        return parts_of(list(value.items()))
    if isinstance(value, set | frozenset):  # its order is another one in every process
        return sorted(map(repr, value))
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, parts_of(value.co_consts)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return fingerprint(value)
    return ADDRESS.sub("", repr(value))
