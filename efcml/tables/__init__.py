"""Ordinary tables: what each column is, and the features that are made of it.

`TableEncoder` is what was learned of a table; dates, words and gaps become features with it, in
the first file and in all later ones. Nothing here needs pandas.
"""

from efcml.tables.encoder import TableEncoder, learn_table
from efcml.tables.problems import TableProblems

__all__ = ["TableEncoder", "TableProblems", "learn_table"]
