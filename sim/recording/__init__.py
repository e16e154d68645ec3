"""Recordings of runs: what they hold, how they are written and read."""
