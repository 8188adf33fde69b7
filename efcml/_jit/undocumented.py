"""Options of numba that are not documented; if they go away, all is slower, no more."""

try:
    from numba.core.options import DefaultOptions
except ImportError:  # the name is not documented
    DefaultOptions = None


def if_known(**options):
    """Return those of the options that this version of numba has."""
    return {name: value for name, value in options.items() if hasattr(DefaultOptions, name)}
