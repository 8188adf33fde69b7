"""Evolving multi-label fuzzy classifiers for data streams (EFC-ML)."""

__version__ = "0.1.0"
