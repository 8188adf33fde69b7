"""Ordinary tables: what each column is, and the features that are made of it.

`efcml.tables.encoder.TableEncoder` is what was learned of a table: every field becomes numbers by
it, in the first file and in all later ones.
"""
