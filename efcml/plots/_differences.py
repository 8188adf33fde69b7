"""The old place of `draw_differences`, for the rooms that still look for it here."""

from efcml.plots.stream import draw_differences

__all__ = ["draw_differences"]
