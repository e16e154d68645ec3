"""Recordings of runs: contents, writing and reading."""
