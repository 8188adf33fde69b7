"""Helpers that know nothing of the method: files, locks, bars, tables, jobs."""
