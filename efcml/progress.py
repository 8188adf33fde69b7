"""A progress bar for long work: shown on a terminal and in a notebook, silent in a pipe."""

import sys
import warnings

from tqdm import TqdmWarning

with warnings.catch_warnings():
    # In a notebook without ipywidgets the bar is plain text, which is no reason to warn.
    warnings.simplefilter("ignore", TqdmWarning)
    from tqdm.auto import tqdm


def progress_bar(total, label, *, unit="row", show=None, **options):
    """Return a tqdm bar; use it in a ``with`` block and call ``update(n)``.

    Parameters
    ----------
    total : int or None
        None if the amount of work is not known.
    label : str
        What is being done.
    unit : str
    show : bool, optional
        None shows it where a person can see it.
    **options
        Further options of tqdm, such as ``unit_scale`` or ``initial``.
    """
    shown = is_watched() if show is None else show
    return tqdm(total=total, desc=label, unit=unit, disable=not shown, leave=False, **options)


def is_watched():
    """Tell whether the output goes to a terminal or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules
