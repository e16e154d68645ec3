"""The settings of a scenario file, as the parts of the testbed take them."""

from pathlib import Path

from controllers.registry import make_controller
from controllers.resources.ledger_cfg import LedgerCfg
from controllers.resources.words import Preemption
from experiments.scenarios.form.scenario_file import ScenarioFile
from experiments.scenarios.form.settings import TransmitterForm
from experiments.scenarios.plan.scenario import TransmitterPlan
from experiments.scenarios.reading.notes import Notes
from experiments.scenarios.reading.scene import Scene
from models import Robot, default_robot_folder, load_robot
from models.library import Unit
from sim.heating import HeatingCfg
from sim.servo import ServoCfg
from sim.simulation_cfg import SimulationCfg, misalignment_of, start_temperatures
from sim.world_cfg import WorldCfg

BUILT_IN_ROBOT = "nao"


def read_robot(form: ScenarioFile, file: Path, notes: Notes) -> Robot | None:
    """Return the robot with the body that it begins with; None where there is none."""
    folder = (
        default_robot_folder()
        if form.robot == BUILT_IN_ROBOT
        else file.parent / form.robot
    )
    robot = notes.attempt(("robot",), load_robot, folder)
    if robot is None or form.body is None:
        return robot
    return notes.attempt(("body",), robot.with_body, form.body) or robot


def read_simulation(form: ScenarioFile, robot: Robot, notes: Notes) -> SimulationCfg:
    """Return the simulated robot; what is wrong is noted and left at its default."""
    given = form.simulation
    for joint, degrees in given.misalignment_deg.items():
        place = ("simulation", "misalignment_deg", joint)
        notes.attempt(place, misalignment_of, robot, {joint: degrees})
    for joint, degc in given.start_degc.items():
        place = ("simulation", "start_degc", joint)
        notes.attempt(place, start_temperatures, robot, {joint: degc}, 30.0)
    return SimulationCfg(
        world=read_world(form, notes) or WorldCfg(),
        servo=ServoCfg(friction_scale=given.gear_friction),
        heating=HeatingCfg(model=given.heating, ambient_degc=given.ambient_degc),
        protection=given.protection,
        misalignment_deg=given.misalignment_deg,
        start_degc=given.start_degc,
        other_start_degc=given.other_start_degc,
        seed=form.seed,
    )


def read_world(form: ScenarioFile, notes: Notes) -> WorldCfg | None:
    """Return the ground, and gravity."""
    given = form.world
    return notes.attempt(
        ("world",),
        WorldCfg,
        friction=given.friction,
        slope_deg=given.slope_deg,
        gravity=given.gravity,
        solver_residual=given.solver_residual,
    )


def read_ledger(form: ScenarioFile) -> LedgerCfg:
    """Return the rules of the reservations."""
    given = form.reservations
    return LedgerCfg(
        preemption=Preemption(given.preemption),
        retry_s=given.retry_s,
        overtake_s=given.overtake_s,
    )


def check_reservations(form: ScenarioFile, scene: Scene) -> None:
    """Note times of the reservations' rules that are no whole slots."""
    scene.ticks(("reservations", "retry_s"), form.reservations.retry_s)
    scene.ticks(("reservations", "overtake_s"), form.reservations.overtake_s)


def read_controller(place: tuple[str | int, ...], spec: str, notes: Notes) -> None:
    """Note a stiffness controller that cannot be made."""
    notes.attempt(place, make_controller, spec)


def read_transmitter(form: TransmitterForm, scene: Scene) -> TransmitterPlan:
    """Return how outputs are put on buses."""
    place = ("transmitter", "buses")
    served = [Unit(unit) for units in form.buses.values() for unit in units]
    for unit in Unit:
        if served.count(unit) != 1:
            scene.notes.add(
                place,
                f"unit {unit.value!r} is on {served.count(unit)} buses; put each of "
                f"{', '.join(Unit)} on exactly one.",
            )
    early = form.early_s
    scene.ticks(("transmitter", "ttl_s"), form.ttl_s)
    for key, times in (("conversion_s", form.conversion_s), ("late_s", form.late_s)):
        for name, seconds in times.items():
            scene.ticks(("transmitter", key, name), seconds, f"{key} of {name}")
    return TransmitterPlan(
        buses={bus: tuple(map(Unit, units)) for bus, units in form.buses.items()},
        mode=form.mode,
        enable=form.enable,
        early_ticks=None
        if early is None
        else scene.ticks(("transmitter", "early_s"), early),
        time_to_live_s=form.ttl_s,
        conversion_s={Unit(unit): s for unit, s in form.conversion_s.items()},
        late_s={Unit(unit): s for unit, s in form.late_s.items()},
    )
