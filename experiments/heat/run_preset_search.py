"""`nao-testbed preset-search`: find the preset `document` and write its file."""

import sys
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML

from experiments.heat.preset_search import (
    JOINTS,
    TARGETS,
    Search,
    Trial,
    find,
    most_trials,
)
from experiments.json_file import check_json_file, json_text, write_json
from experiments.simulated_time_bars import counted_bars
from models import BadInput, default_robot_folder, load_robot
from models.files import check_writable
from sim.robot import SimulationCfg

EFFORT_LIMIT = 3.2
"""N·m, the document's authorised maximum of the legs (ST-3)."""
LEGS = ("HipYawPitch", "HipRoll", "HipPitch", "KneePitch", "AnklePitch", "AnkleRoll")
OTHER_START_DEGC = 30.0
REACHED = ("left_rise_k", "right_rise_k", "LAnklePitch_degc", "RHipPitch_degc")
"""What `TARGETS` are."""


@dataclass(frozen=True)
class _Stand:
    """Makes the simulation of a trial; a class, so that workers can unpickle it."""

    def __call__(self, misalignment_deg: dict[str, float]) -> SimulationCfg:
        return SimulationCfg(misalignment_deg=misalignment_deg)


def run_preset_search(
    out: Path, generations: int, seed: int, json_file: str | None = None
) -> int:
    """Search, report on stderr, write the file; return the exit status.

    Raises:
        BadInput: a number makes no sense, or the file cannot be written.
    """
    for name, value in (("generations", generations), ("seed", seed)):
        if value < 0:
            raise BadInput(f"{name} is {value}; give a whole number from 0 up.")
    check_writable("--out", out)
    check_json_file(json_file)
    limits = {side + joint: EFFORT_LIMIT for side in "LR" for joint in LEGS}
    robot = load_robot(default_robot_folder()).with_effort_limits(limits)
    search = Search(robot=robot, cfg=_Stand())
    best = _with_progress(search, seed, generations)
    command = (
        f"nao-testbed preset-search --generations {generations} --seed {seed} "
        f"--out {out}"
    )
    with out.open("w", encoding="utf-8") as file:
        YAML().dump(_as_preset(best, command, limits), file)
    write_json(json_file, json_text(_as_json(best, out, generations, seed)))
    print(
        f"wrote {out}; reached {best.reached.round(1)} for {TARGETS}", file=sys.stderr
    )
    return 0


def _with_progress(search: Search, seed: int, generations: int) -> Trial:
    if not sys.stderr.isatty():
        return find(search, seed, generations, lambda _tried, _cost: None)
    with counted_bars() as progress:
        task = progress.add_task("searching", total=most_trials(generations))

        def show(tried: int, cost: float) -> None:
            said = f"cost {cost:.2f}"
            progress.update(task, completed=tried, description=said)

        return find(search, seed, generations, show)


def _as_json(best: Trial, out: Path, generations: int, seed: int) -> dict[str, object]:
    """Return the contract of `--json`: what was reached, beside what was wanted."""
    reached = zip(REACHED, best.reached.tolist(), TARGETS.tolist(), strict=True)
    return {
        "experiment": "preset-search",
        "file": str(out),
        "generations": generations,
        "seed": seed,
        "cost": best.cost,
        "reached": {name: {"value": a, "target": b} for name, a, b in reached},
        "misalignment_deg": best.misalignment_deg,
        "start_degc": best.start_degc,
    }


def _as_preset(
    best: Trial, command: str, limits: dict[str, float]
) -> dict[str, object]:
    left, right, ankle, hip = best.reached
    return {
        "about": (
            "NAO in PoseInit, legs limited to 3.2 N·m, with calibration errors that "
            "heat its joints as published for the robot without the method. Start "
            "temperatures are an assumption between 25 and 45 °C; the document gives "
            "none. In the search (5 s of physics, then the closed form) it reached "
            f"{left:.1f} K left, {right:.1f} K right, LAnklePitch {ankle:.1f} °C, "
            f"RHipPitch {hip:.1f} °C."
        ),
        "fitted_to": (
            "column without: left leg 109 K, right leg 50 K, LAnklePitch 80 °C (before "
            "the end: 80.5), RHipPitch 60 °C"
        ),
        "found_by": command,
        "posture": "PoseInit",
        "minutes": 15.0,
        "effort_limits": limits,
        "misalignment_deg": best.misalignment_deg,
        "start_degc": {name: best.start_degc[name] for name in JOINTS},
        "other_start_degc": OTHER_START_DEGC,
    }
