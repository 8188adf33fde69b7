"""All built-in streams by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .dataset import Dataset
from .drift_streams import KINDS, drift_stream
from .synthetic import drifting_clusters, drifting_clusters_2d, stationary_clusters

GENERATORS: dict[str, Callable[..., Dataset]] = {
    "drifting-clusters": drifting_clusters,
    "drifting-clusters-2d": drifting_clusters_2d,
    "stationary-clusters": stationary_clusters,
    **{name: partial(drift_stream, name) for name in KINDS},
}
