"""Do something as soon as a package is loaded, whoever loads it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


def when_loaded(name: str, action: Callable[[ModuleType], object]) -> None:
    """Call ``action(module)`` when the module of this name has been loaded; at once if it is.

    The call comes before anybody else gets the module. It may come twice if threads import at
    the same time.

    Examples
    --------
    >>> when_loaded("json", lambda module: print(module.__name__))
    json
    """
    watch = Watch(name, action)
    sys.meta_path.insert(0, watch)  # before the look below: a thread may import in between
    if name in sys.modules:
        watch.end(import_module(name))  # waits for a thread that is in the middle of it


class Watch:
    """A finder that finds what the ones behind it find, and acts when that has been executed."""

    def __init__(self, name: str, action: Callable[[ModuleType], object]) -> None:
        self.name, self.action = name, action

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of the module that is waited for, as the finders behind give it."""
        if name != self.name:
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            spec = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                spec.loader = WatchedLoader(spec.loader, self)  # type: ignore[assignment]
                return spec
        return None

    def end(self, module: ModuleType) -> None:
        """Act, and watch no longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self.action(module)


class WatchedLoader:
    """A loader for one import; it leaves no trace in the module."""

    def __init__(self, loader: Any, watch: Watch) -> None:
        self.loader, self.watch = loader, watch

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return the module to be executed, or None for a usual one."""
        return self.loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        """Execute the module with its own loader, then act."""
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.watch.end(module)
