"""A progress bar for long work: shown on a terminal and in a notebook, silent in a pipe."""

from __future__ import annotations

import sys
from typing import Any


def progress_bar(
    total: int | None, label: str, *, unit: str = "row", show: bool | None = None, **options: Any
) -> Any:
    """Return a tqdm bar; use it in a ``with`` block and call ``update(n)``.

    ``total`` is None if the amount of work is not known; ``show=None`` shows the bar where a person
    can see it; ``options`` are further ones of tqdm, such as ``initial``.
    """
    from tqdm import tqdm  # not above: the command line prints its help without

    shown = is_watched() if show is None else show
    options |= {"total": total, "desc": label, "unit": unit, "disable": not shown, "leave": False}
    # In a notebook, what goes to stderr would look like an error.
    options["file"] = sys.stdout if in_notebook() else sys.stderr
    return tqdm(**options)


def tell(text: str) -> None:
    """Print a line for a person who waits, where bars make room for it; nothing in a pipe."""
    if is_watched():
        from tqdm import tqdm

        tqdm.write(text, file=sys.stdout if in_notebook() else sys.stderr)


def is_watched() -> bool:
    """Tell whether the output goes to a terminal or a notebook."""
    return sys.stderr.isatty() or in_notebook()


def in_notebook() -> bool:
    """Tell whether this process is the kernel of a notebook."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")
