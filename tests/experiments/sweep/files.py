"""Sweep files for tests."""

from pathlib import Path

from nao_testbed.experiments.sweep.spec import SweepSpec
from nao_testbed.experiments.sweep.spec_file.read_spec import read_spec

TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"
ANKLES = """\
name: ankles
controller: [fixed, smart]
friction: [0.5, 0.7, 0.9]
slope_deg: {uniform: [-2, 2]}
misalignment_deg:
  LAnklePitch: [0, 1]
  legs: {normal: [0, 0.7], clip: [-2, 2]}
start_degc: {legs: {uniform: [25, 45]}}
robots: 4
seed: 7
"""
SHORT = f"""\
name: short
robot: {TWO_LEG}
controller: [fixed, "constant:0.9"]
posture: Stand
minutes: 0.02
misalignment_deg: {{left_ankle: [0, 1, 2]}}
"""
"""Six trials of 1.2 s, each a tenth of a second of work."""


def spec_of(folder: Path, text: str) -> SweepSpec:
    """Return the sweep specified by a text."""
    path = folder / "sweep.yaml"
    path.write_text(text, encoding="utf-8")
    return read_spec(path)
