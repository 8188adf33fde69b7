"""All built-in streams by name."""

from __future__ import annotations

from collections.abc import Callable

from .catalog import Dataset
from .drift_streams import (
    abrupt_drift,
    gradual_drift,
    label_drift,
    local_drift,
    recurring_drift,
    scale_drift,
)
from .synthetic import drifting_clusters, drifting_clusters_2d, stationary_clusters

GENERATORS: dict[str, Callable[..., Dataset]] = {
    "drifting-clusters": drifting_clusters,
    "drifting-clusters-2d": drifting_clusters_2d,
    "stationary-clusters": stationary_clusters,
    "abrupt-drift": abrupt_drift,
    "gradual-drift": gradual_drift,
    "recurring-drift": recurring_drift,
    "local-drift": local_drift,
    "scale-drift": scale_drift,
    "label-drift": label_drift,
}
