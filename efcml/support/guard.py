"""Calls that wait for each other: one thread at a time in a learner.

Compiled kernels release the interpreter lock, and a learner has one set of scratch arrays. Two
threads in one learner would therefore write over each other's rows, silently. Every object has a
lock of its own; nothing is stored in the object, so copies, pickles, clones and files know nothing
of it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeAlias, TypeVar
from weakref import ref

Thing = TypeVar("Thing")
Given = ParamSpec("Given")
Result = TypeVar("Result")
Method: TypeAlias = Callable[Concatenate[Thing, Given], Result]
Lock: TypeAlias = AbstractContextManager[Any]

# (weak reference, lock) by the id of the object; a WeakKeyDictionary is slower.
_locks: dict[int, tuple[ref[Any], Any]] = {}
_making = threading.Lock()


def one_at_a_time(function: Method[Thing, Given, Result]) -> Method[Thing, Given, Result]:
    """Let calls wait until no other thread is in a call with the same first argument.

    A thread that is inside may call further guarded functions of the same object.

    Examples
    --------
    >>> class Account:
    ...     total = 0
    ...
    ...     @one_at_a_time
    ...     def add(self, amount):
    ...         self.total += amount
    >>> Account().add(3)
    """

    @wraps(function)
    def waiting(thing: Thing, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        with lock_of(thing):
            return function(thing, *args, **kwargs)

    return waiting


def lock_of(thing: object) -> Lock:
    """Return the lock of an object, for what takes more than one call."""
    key = id(thing)
    found = _locks.get(key)
    if found is None:
        with _making:
            # The entry goes with the object, before another one can have its id.
            entry = ref(thing, lambda _: _locks.pop(key, None)), threading.RLock()
            found = _locks.setdefault(key, entry)
    return found[1]


class Abandoned:
    """The lock of an object that another thread was changing when the process was forked."""

    def __enter__(self) -> NoReturn:
        raise RuntimeError(
            "this model was in use by another thread when the process was forked and may be half"
            " changed: copy it before, or load it from a file in the new process."
        )

    def __exit__(self, *exc_info: object) -> None:
        pass


def _after_fork() -> None:
    """In the child: threads are gone but for one, and so is what they were about to finish."""
    global _making
    _making = threading.Lock()
    for key, (reference, lock) in list(_locks.items()):
        if lock.acquire(blocking=False):
            lock.release()
        else:
            _locks[key] = reference, Abandoned()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)


class Guarded:
    """A learner with a guarded ``copy``; pickles of it are whole, also while it learns."""

    copy: Callable[[], Any]

    def __getstate__(self) -> dict[str, Any]:
        return vars(self.copy())
