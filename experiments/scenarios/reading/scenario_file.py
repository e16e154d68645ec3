"""Root of a scenario file as pydantic models, and its settings as configuration.

World, faults of the robot, rules of the reservations, and buses of the transmitter: the
models of the file (`...Form`), and their conversion to configurations (`read_...`). The
models also generate the JSON Schema for editors.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import Field, Strict, model_validator
from pydantic.json_schema import GenerateJsonSchema

from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.tokens import Preemption
from nao_testbed.controllers.interface.ranges import Name
from nao_testbed.controllers.transmitter.buses.bus import TransmitterCfg, Watch
from nao_testbed.controllers.transmitter.commands.timing import (
    CONVERSION_S,
    CommandControllerCfg,
    Enable,
)
from nao_testbed.experiments.common.form_parts import Notes, Part, Prose, part_of
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.experiments.scenarios.reading.behaviours import BehaviourForm
from nao_testbed.experiments.scenarios.vocabulary.events import AnyEvent
from nao_testbed.experiments.scenarios.vocabulary.expectations import AnyExpectation
from nao_testbed.experiments.scenarios.vocabulary.lookup import Lookup
from nao_testbed.models import Robot, load_robot
from nao_testbed.models.folders import robot_names
from nao_testbed.models.library import Unit
from nao_testbed.models.load.library_forms import LibraryForm
from nao_testbed.models.values import PositiveSeconds, Seconds

UnitName = Literal["motion", "light", "sound"]
UNITS: tuple[UnitName, ...] = get_args(UnitName)
Bus = Annotated[list[UnitName], Field(min_length=1)]


QUICK_RESIDUAL = 1e-5
"""Default squared residual at which the contact solver stops: faster than the 1e-7 of
the heat experiment, without a visible difference."""
if TYPE_CHECKING:
    WorldForm = Part
    SimulationForm = Part
else:
    WorldForm = part_of(
        RobotSetting,
        "WorldForm",
        "Ground and gravity.",
        ("friction", "slope_deg", "gravity", "solver_residual"),
        solver_residual=QUICK_RESIDUAL,
    )
    SimulationForm = part_of(
        RobotSetting,
        "SimulationForm",
        "Faults of this robot and its heating.",
        (
            "misalignment_deg",
            "current_limit_a",
            "payload_kg",
            "obstacles",
            "start_degc",
            "other_start_degc",
            "protection",
            "engine",
            "heating",
            "ambient_degc",
            "gear_friction",
            "gear_play_deg",
        ),
    )


class ReservationsForm(Part):
    """Conflict rules of the ledger."""

    preemption: Literal["off", "by_priority"] = "off"
    """`by_priority`: a strictly higher priority preempts the holder."""
    retry_s: PositiveSeconds = 0.5
    """Period of repeated demands to the holders, in s."""
    overtake_s: Seconds = 5.0
    """Time limit for equals to overtake a waiting request, in s."""


class TransmitterForm(Part):
    """Transmission of outputs on buses."""

    buses: Annotated[dict[Name, Bus], Field(min_length=1)] = Field(
        default_factory=lambda: {"main": list(UNITS)}
    )
    """Bus to the units that it serves; each unit has one bus."""
    mode: Literal["watching", "elected"] = "watching"
    """`watching`: each bus counts points; `elected`: one elected unit counts them."""
    enable: Literal["expected", "at end", "early"] = "expected"
    """Time to request synchronous outputs during an initial motion: `expected`, so that
    they are ready at its end; `at_end`; or `early`, by `early_s` before the expected
    time."""
    early_s: Seconds | None = None
    """With `enable: early`: lead time in s."""
    ttl_s: PositiveSeconds = 10.0
    """Lifetime of an incomplete group, in s."""
    conversion_s: dict[UnitName, Seconds] = Field(default_factory=dict)
    """Unit to the known delay of its converter, in s."""
    late_s: dict[UnitName, Seconds] = Field(default_factory=dict)
    """Unit to the additional, unexpected delay of its converter, in s."""

    @model_validator(mode="after")
    def _early_has_a_time(self) -> "TransmitterForm":
        if (self.enable == "early") != (self.early_s is not None):
            raise ValueError(
                "enable: early needs early_s, and other modes do not take it"
            )
        return self


class ScenarioFile(LibraryForm):
    """A scenario: setting, behaviours, events, expectations.

    Its motions, lights, sounds, commands and transitions extend the robot's library.
    """

    name: Name
    """Short name, for lists."""
    about: Prose
    """Purpose, in a sentence or two."""
    robot: Name = "nao"
    """Name of a built-in robot, or folder of another one, relative to this file."""
    body: Name | None = None
    """Body type of the robot, such as H25; absent: all parts."""
    posture: Name | None = None
    """Initial stored posture, at rest; absent: the upright one."""
    duration_s: Annotated[PositiveSeconds, Strict()]
    """Simulated time in s."""
    seed: Annotated[int, Strict(), Field(ge=0)] = 0
    """Seed of all noise and random choices."""
    controller: Name = "fixed"
    """Stiffness controller, as `nao-testbed heat --controllers` names it."""
    voice: Name = "syllables"
    """Speech synthesis: `syllables`, or `espeak` for intelligible words."""
    world: WorldForm = WorldForm()
    simulation: SimulationForm = SimulationForm()
    reservations: ReservationsForm = ReservationsForm()
    transmitter: TransmitterForm = TransmitterForm()
    behaviours: list[BehaviourForm] = Field(default_factory=list)
    """Behaviours in the order of acting."""
    events: list[AnyEvent] = Field(default_factory=list)
    expect: list[AnyExpectation] = Field(default_factory=list)


def scenario_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of scenario files.

    The schema covers keys, types and ranges. `nao-testbed scenario check` validates
    names, times and contradictions.
    """
    schema = ScenarioFile.model_json_schema(by_alias=True)
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        **schema,
        "title": "nao-testbed scenario",
    }


def read_robot(form: ScenarioFile, file: Path, notes: Notes) -> Robot | None:
    """Return the robot with its initial body; None if it does not exist."""
    is_built_in = form.robot in robot_names()
    folder = form.robot if is_built_in else file.parent / form.robot
    robot = notes.attempt(("robot",), load_robot, folder)
    if robot is None or form.body is None:
        return robot
    return notes.attempt(("body",), robot.with_body, form.body) or robot


def posture_of(form: ScenarioFile, robot: Robot) -> str:
    """Return the initial posture; the robot may lack it."""
    return robot.posture_name(form.posture, "upright")


def read_setting(form: ScenarioFile, robot: Robot, notes: Notes) -> RobotSetting:
    """Return the setting; report and drop invalid values."""
    name = posture_of(form, robot)
    posture = name if name in robot.postures else None
    right: dict[str, Any] = {"seed": form.seed, "posture": posture}
    for section in ("world", "simulation"):
        for key, given in getattr(form, section):
            if not isinstance(given, Mapping):
                one = {key: given}
                if notes.attempt((section, key), _checked, one, robot, posture):
                    right |= one
                continue
            right[key] = {
                name: value
                for name, value in given.items()
                if notes.attempt(
                    (section, key, name), _checked, {key: {name: value}}, robot, posture
                )
            }
    return RobotSetting(**right)


def _checked(given: Mapping[str, Any], robot: Robot, posture: str | None) -> bool:
    """Return True if the robot can be in a posture with this setting.

    Raises:
        BadInput: the robot cannot be in the posture.
    """
    RobotSetting(posture=posture, **given).check(robot)
    return True


def read_ledger(form: ScenarioFile) -> LedgerCfg:
    """Return the rules of the reservations."""
    given = form.reservations
    return LedgerCfg(
        preemption=Preemption(given.preemption),
        retry_s=given.retry_s,
        overtake_s=given.overtake_s,
    )


def check_reservations(form: ScenarioFile, lookup: Lookup) -> None:
    """Report times of the reservation rules that are not multiples of the slot."""
    lookup.ticks(("reservations", "retry_s"), form.reservations.retry_s)
    lookup.ticks(("reservations", "overtake_s"), form.reservations.overtake_s)


def read_transmitter(
    form: TransmitterForm, lookup: Lookup
) -> tuple[TransmitterCfg, CommandControllerCfg, dict[Unit, float]]:
    """Return the buses, the command controller, and the actual delays of converters.

    Errors are reported; wrong buses keep their default.
    """
    place = ("transmitter", "buses")
    served = [unit for units in form.buses.values() for unit in units]
    wrong = [unit for unit in Unit if served.count(unit.value) != 1]
    for unit in wrong:
        lookup.notes.add(
            place,
            f"unit {unit.value!r} is on {served.count(unit.value)} buses; put each of "
            f"{', '.join(Unit)} on exactly one.",
        )
    lookup.ticks(("transmitter", "ttl_s"), form.ttl_s)
    for key, times in (("conversion_s", form.conversion_s), ("late_s", form.late_s)):
        for name, seconds in times.items():
            lookup.ticks(("transmitter", key, name), seconds, f"{key} of {name}")
    if form.early_s is not None:
        lookup.ticks(("transmitter", "early_s"), form.early_s)
    buses = {"main": UNITS} if wrong else form.buses
    expected = {
        unit: form.conversion_s.get(unit.value, CONVERSION_S[unit]) for unit in Unit
    }
    transmitter = TransmitterCfg(
        buses={bus: tuple(map(Unit, units)) for bus, units in buses.items()},
        watch=Watch(form.mode),
        ttl_s=form.ttl_s,
    )
    commands = CommandControllerCfg(
        enable=Enable(form.enable.replace(" ", "_")),
        early_s=form.early_s or 0.0,
        conversion_s=expected,
    )
    late = form.late_s
    return (
        transmitter,
        commands,
        {u: expected[u] + late.get(u.value, 0.0) for u in Unit},
    )
