"""Slow and obvious twins of the code, written from the formulas."""
