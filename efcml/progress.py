"""A progress bar for long work: shown on a terminal and in a notebook, silent in a pipe."""

import sys
import warnings


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
    return bar_class()(
        total=total, desc=label, unit=unit, disable=not shown, leave=False, **options
    )


def bar_class():
    """Return tqdm's class; it is loaded here, for the command line prints its help without."""
    from tqdm import TqdmWarning

    with warnings.catch_warnings():
        # In a notebook without ipywidgets the bar is plain text, which is no reason to warn.
        warnings.simplefilter("ignore", TqdmWarning)
        from tqdm.auto import tqdm
    return tqdm


def is_watched():
    """Tell whether the output goes to a terminal or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def in_words(seconds):
    """Return a time for people.

    Examples
    --------
    >>> in_words(40), in_words(200), in_words(9000)
    ('40 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
