"""How many rows go through at a time: about as many as take half a second.

A progress bar then moves, and an interrupt or a checkpoint need not wait for long.
"""

FIRST_BLOCK = 32  # rows
SECONDS_PER_BLOCK = 0.5
MOST_GROWTH = 4  # of a block over the one before


class Pace:
    """The size of the next block, from how long the last one took."""

    def __init__(self) -> None:
        self.size = FIRST_BLOCK

    def follow(self, rows: int, seconds: float, least: float = 0.0) -> None:
        """Choose the next size after a block; it is to take at least so many seconds."""
        goal = max(SECONDS_PER_BLOCK, least)
        wanted = goal * rows / max(seconds, 1e-9)
        self.size = max(1, int(min(wanted, MOST_GROWTH * self.size)))
