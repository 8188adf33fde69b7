"""What keeps a learner whole while it works: one thread in it, Ctrl-C between rows, one of BLAS.

Compiled kernels release the interpreter lock, so two threads in one learner would write over each
other's rows. A learner is changed in many steps; an interrupt in between would leave a model that
no stream can make. The products of one row are small: several threads of BLAS cost more than they
save, and the last digits would depend on their number.
"""

from __future__ import annotations

import threading
import warnings

# Those of `signal` look every handler up among its constants: ten times the time, every row.
from _signal import getsignal, signal  # type: ignore[import-not-found]
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from signal import SIGINT
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from threadpoolctl import ThreadpoolController

Method = TypeVar("Method", bound=Callable[..., Any])

LONG = 1000  # rows; before a call with so many, the object is copied

# Nothing is stored in the object itself: copies, pickles, clones and files know nothing of it.
_locks: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_undos: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def one_at_a_time(function: Method) -> Method:
    """Let calls wait until no other thread is in a call with the same first argument.

    A thread that is inside may call further guarded functions of the same object.
    """

    @wraps(function)
    def waiting(thing: Any, *args: Any, **kwargs: Any) -> Any:
        with lock_of(thing):
            return function(thing, *args, **kwargs)

    return waiting  # type: ignore[return-value]


def lock_of(thing: object) -> Any:
    """Return the lock of an object, for what takes more than one call."""
    return _locks.setdefault(thing, threading.RLock())


class Guarded:
    """A learner with a guarded ``copy``; pickles of it are whole, also while it learns."""

    copy: Callable[[], Any]

    def __getstate__(self) -> dict[str, Any]:
        return vars(self.copy())

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()  # ten times as fast as copying every part


class Undo:
    """What brings an object back to where it was before a call that breaks off.

    That is a copy of it, and the short calls since then, which are made again: so a call of one row
    need not copy everything. Functions of a user may not answer the same again; where there are
    some, every call begins with a copy.
    """

    def __init__(self) -> None:
        self.before: Any = None
        self.calls: list[tuple[str, Any]] = []
        self.rows = LONG  # since the copy; so many, and the next call needs another one

    def prepare(self, thing: Any, rows: int) -> None:
        """Copy an object before a call with so many rows, if it is time."""
        if self.rows + rows >= LONG or thing.calls_others:
            self.before, self.calls, self.rows = thing.copy(self.before), [], 0

    def note(self, rows: int, name: str, given: tuple[Any, ...]) -> None:
        """Note a call that has been made."""
        self.rows += rows + 1
        if self.rows < LONG:
            kept = (part.copy() if hasattr(part, "copy") else part for part in given)
            self.calls.append((name, tuple(kept)))

    def go_back(self, thing: Any, error: BaseException) -> None:
        """Let an object be as it was before the call that raised the error."""
        vars(thing).update(vars(self.before.copy() if self.calls else self.before))
        try:
            with warnings.catch_warnings(action="ignore"):
                for name, given in self.calls:
                    getattr(thing, name)(*given)
        except Exception:
            vars(thing).update(vars(self.before))
            error.add_note(f"What the {self.rows} rows before this call taught is lost, too.")


def whole_or_not_at_all(thing: Any, rows: int, name: str, *given: Any, **more: Any) -> None:
    """Call a method of a guarded object; if it breaks off, the object is as it was before.

    ``more`` is left out where the call is made again.
    """
    undo = _undos.pop(thing, None) or Undo()
    undo.prepare(thing, rows)
    try:
        getattr(thing, name)(*given, **more)
    except BaseException as error:
        with interrupts_held():
            undo.go_back(thing, error)
        raise
    undo.note(rows, name, given)
    _undos[thing] = undo


def changed_otherwise(thing: Any) -> None:
    """Forget the calls of an object that has been changed by something else since."""
    _undos.pop(thing, None)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let an interrupt wait until the end of the block; it is then raised as usual.

    Blocks may be nested: the outermost one counts. Keep them shorter than a person waits.
    """
    before = getsignal(SIGINT)
    main = threading.current_thread() is threading.main_thread()
    # Elsewhere there is nothing to hold: other threads get no interrupts, and some ignore them.
    if not main or not callable(before) or getattr(before, "__name__", "") == "wait_for_block":
        yield
        return
    waiting = []

    def wait_for_block(*given: Any) -> None:
        waiting.append(given)

    signal(SIGINT, wait_for_block)
    try:
        yield
    finally:
        signal(SIGINT, before)
        if waiting:
            before(*waiting[0])


_counting = threading.Lock()
_inside = 0  # blocks of one BLAS thread, entered and not yet left
_changed: list[tuple[Any, int]] = []  # (pool, number of threads before)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread within this block; then as many as before.

    The number belongs to the process: of several threads that are in such blocks at a time, the
    last one that leaves puts it back.
    """
    global _inside
    with _counting:
        _inside += 1
        if _inside == 1:
            _changed[:] = [(pool, pool.get_num_threads()) for pool in blas_pools()]
            for pool, _ in _changed:
                pool.set_num_threads(1)
    try:
        yield
    finally:
        with _counting:
            _inside -= 1
            if _inside == 0:
                for pool, number in _changed:
                    pool.set_num_threads(number)


@cache
def blas_pools() -> tuple[Any, ...]:
    """Return what controls the thread pools of the BLAS libraries that are loaded."""
    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)
