"""The experiments of the paper, from runs to verdicts: ``efcml reproduce``.

Experiments are lists of lines (`plan`), each a run (`runs`) in several orders. What is missing is
done by a study (`work`), and its records are kept (`run_records`). From the records alone come
tables and figures (`shown`), and verdicts on what the paper says (`claims`, `verdicts`).
"""

from efcml_paper.plan import IDS

__all__ = ["IDS"]
