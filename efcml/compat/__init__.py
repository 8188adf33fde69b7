"""The learner as a model of other libraries; each module imports its own, and nothing else does.

`efcml.compat.river` has `RiverEFCML`, a multi-label classifier of river.
"""
