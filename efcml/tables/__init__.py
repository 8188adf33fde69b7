"""Ordinary tables: what each column is, and the features that are made of it.

`TableEncoder` is what was learned of a table: every field becomes numbers by it, in the first file
and in all later ones. pandas is loaded when a table is read, not before.
"""

from efcml.support.imports import lazy_names
from efcml.tables.words import TableProblems

__all__ = ["TableEncoder", "TableProblems"]

__getattr__, __dir__ = lazy_names(__name__, {"TableEncoder": "efcml.tables.encoder"})
