"""The learner in the clothes of other libraries; each module needs its library and is imported alone.

`efcml.compat.river` has `RiverEFCML`, a multi-label classifier of river.
"""
