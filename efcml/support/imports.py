"""What is imported when: names at their first use, optional packages where they are needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

EXTRAS = {  # the extra of pyproject.toml by the name that is imported
    "pyarrow": "parquet",
    "river": "river",
    "dask": "distributed",
    "distributed": "distributed",
    "capymoa": "peers",
}


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package, from the module of each name.

    A module of the package is its own home.
    """

    def __getattr__(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(homes[name])
        value = home if homes[name] == f"{package}.{name}" else getattr(home, name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__, lambda: sorted({*vars(sys.modules[package]), *homes})


@contextmanager
def extra_for(purpose: str) -> Iterator[None]:
    """Import optional packages in the block; one that is missing is named with its extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:  # something that an installed package lacks
            raise
        reason = f"{purpose} needs {package}, which is missing"
        message = f'{reason}: pip install "efcml[{EXTRAS[package]}]"'
        raise ModuleNotFoundError(message, name=package) from None
