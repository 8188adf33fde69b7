"""A progress bar for long work: shown on a terminal and in a notebook, silent in a pipe."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm

CELL_DELAY = 0.5  # seconds in a notebook: what is quicker than this leaves nothing in the cell
CELL_COLUMNS = 90


def progress_bar(
    total: int | None, label: str, *, unit: str = "row", show: bool | None = None, **options: Any
) -> tqdm:
    """Return a tqdm bar; use it in a ``with`` block and call ``update(n)``.

    ``total`` is None if the amount of work is not known; ``show=None`` shows the bar where a person
    can see it; ``options`` are further ones of tqdm, such as ``initial``.
    """
    from tqdm import tqdm  # not above: the command line prints its help without

    shown = is_watched() if show is None else show
    options |= {"total": total, "desc": label, "unit": unit, "disable": not shown, "leave": False}
    return cell_bar(**options) if in_notebook() else tqdm(**options)


def cell_bar(**options: Any) -> tqdm:
    """Return a bar in a notebook: one line below the cell, in one place, gone at the end.

    What goes to stderr would be red and stay in the saved notebook; widgets would stay as well, as
    errors where they are not known.
    """
    from IPython.display import display
    from tqdm import tqdm

    class CellBar(tqdm):
        handle: Any = None

        def display(self, msg: str | None = None, pos: int | None = None) -> None:
            text = str(self) if msg is None else msg
            # Without a kind that is drawn as nothing, an empty text would be an empty line.
            data = {"text/plain": text} | ({} if text else {"text/html": ""})
            if self.handle is not None:
                self.handle.update(data, raw=True)
            elif text:
                self.handle = display(data, raw=True, display_id=True)

        def close(self) -> None:
            super().close()
            if self.handle is not None:  # also what was drawn before the delay was over goes
                self.display("")
                self.handle = None

    if "TQDM_DELAY" not in os.environ:
        options = {"delay": CELL_DELAY} | options
    # tqdm moves a cursor in its file; there is none here.
    return CellBar(file=io.StringIO(), ncols=CELL_COLUMNS, ascii=False, **options)


def tell(text: str) -> None:
    """Print a line for a person who waits; nothing in a pipe.

    On a terminal it goes where bars go, which make room for it; in a notebook it is not an error.
    """
    if in_notebook():
        print(text, flush=True)
    elif is_watched():
        from tqdm import tqdm

        tqdm.write(text, file=sys.stderr)


def is_watched() -> bool:
    """Tell whether the output goes to a terminal or a notebook."""
    return sys.stderr.isatty() or in_notebook()


def in_notebook() -> bool:
    """Tell whether this process is the kernel of a notebook."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")
