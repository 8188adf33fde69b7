"""Pipelines, told apart by what they have; neither scikit-learn nor river is imported."""

from __future__ import annotations

from typing import Any


def is_pipeline(model: Any) -> bool:
    """Tell whether a model is a pipeline of scikit-learn, or looks like one."""
    return hasattr(model, "steps") and hasattr(model, "named_steps")


def list_steps(pipeline: Any) -> list[Any]:
    """Return all steps of a pipeline of scikit-learn, those of inner pipelines among them."""
    found: list[Any] = []
    for _, step in pipeline.steps:
        if is_pipeline(step):
            found += list_steps(step)
        elif step is not None and not isinstance(step, str):  # "passthrough"
            found.append(step)
    return found


def last_step(model: Any) -> Any:
    """Return the model at the end of a pipeline, also of river; any other model as it is."""
    steps = getattr(model, "steps", None)
    if not steps or isinstance(model, type):
        return model
    return last_step([*steps.values()][-1] if hasattr(steps, "values") else steps[-1][1])
