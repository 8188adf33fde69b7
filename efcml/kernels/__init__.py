"""Compiled code: leaves over plain arrays, and one driver for each part of the model.

A driver is called from Python with named tuples of arrays (efcml/model/tables.py) and goes through
rows until they are done or Python must act. Any split of a stream into calls gives the same bits.
"""
