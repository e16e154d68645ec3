"""Sweeps: one experiment over many robots, settings and controllers."""
