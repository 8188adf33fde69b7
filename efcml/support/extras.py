"""Packages that are not installed with efcml: where one is missing, the extra that brings it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

EXTRAS = {
    "pandas": "pandas",
    "pyarrow": "parquet",
    "river": "river",
    "dask": "distributed",
    "distributed": "distributed",
    "capymoa": "peers",
}  # the extra of pyproject.toml by the name that is imported


@contextmanager
def extra_for(purpose: str) -> Iterator[None]:
    """Import optional packages in the block; one that is missing is named with its extra.

    Examples
    --------
    >>> with extra_for("a table"):
    ...     raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
    Traceback (most recent call last):
    ModuleNotFoundError: a table needs pandas, which is missing: pip install "efcml[pandas]"
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:  # something that an installed package lacks
            raise
        raise ModuleNotFoundError(
            f'{purpose} needs {package}, which is missing: pip install "efcml[{EXTRAS[package]}]"',
            name=package,
        ) from None
