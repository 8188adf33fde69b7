"""The experiments of the paper: what is run, what it claims, and ``efcml reproduce``."""
