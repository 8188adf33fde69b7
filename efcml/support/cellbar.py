"""A progress bar in a notebook."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any

from tqdm import tqdm

DELAY = 0.5  # seconds in a notebook: what is quicker than this leaves nothing in the cell
COLUMNS = 90  # of a bar in a notebook


class CellBar(tqdm):
    """A bar in a notebook: one line below the cell, drawn anew in its place and gone at the end.

    What goes to stderr would be red and stay in the saved notebook; widgets would stay as well, as
    errors where they are not known.
    """

    def __init__(self, **options: Any) -> None:
        if "TQDM_DELAY" not in os.environ:
            options.setdefault("delay", DELAY)
        # tqdm moves a cursor in its file; there is none here.
        super().__init__(file=io.StringIO(), **{"ncols": COLUMNS, "ascii": False} | options)

    @staticmethod
    def status_printer(file: Any) -> Callable[[str], None]:
        """Return the function that shows a text in the place of the one before."""
        from IPython.display import display

        handle: Any = None
        last = ""

        def show(text: str) -> None:
            nonlocal handle, last
            if text == last:
                return
            last = text
            if handle is not None:
                # Without a kind that is drawn as nothing, an empty text would be an empty line.
                empty = {} if text else {"text/html": ""}
                handle.update({"text/plain": text} | empty, raw=True)
            else:
                handle = display({"text/plain": text}, raw=True, display_id=True)

        return show

    def close(self) -> None:
        """End the bar; what was drawn before its delay was over goes as well."""
        drawn = not self.disable
        super().close()
        if drawn:
            self.sp("")
