"""The sweeps that come with the testbed, by their names."""

from pathlib import Path

from experiments.shipped import Shipped

SWEEPS = Shipped(kind="sweep", folder=Path(__file__).resolve().parents[1] / "sweeps")
