"""The experiments of the paper, from runs to verdicts: ``efcml reproduce``.

A run is described (`runs`), done (`execute`) where there is room (`work`), and its record kept
(`record`). Experiments are lists of lines (`plan`), each a run in several orders; tables, figures
and verdicts are made from the records alone.
"""

from efcml_paper.plan import IDS

__all__ = ["IDS"]
