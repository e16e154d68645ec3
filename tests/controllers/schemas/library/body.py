"""A NAO whose joints follow at once, with everything its schemas act through.

The same parts as on the simulator, in the same order per slot, without physics:
set-points are reached at once, and the test sets the sensor values.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from nao_testbed.controllers.arbitration.events import Event
from nao_testbed.controllers.arbitration.faults.posture_monitor import PostureMonitor
from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import Preemption
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.schemas import State
from nao_testbed.controllers.schemas.events import NotWinner, SchemaFailed
from nao_testbed.controllers.schemas.runtime import SchemaRuntime
from nao_testbed.controllers.schemas.runtime.gate_actuators import GateActuators
from nao_testbed.controllers.transmitter.commands.pipeline import (
    CommandController,
)
from nao_testbed.controllers.transmitter.commands.posture import PostureBelief
from nao_testbed.controllers.transmitter.events import StreamStarted
from nao_testbed.controllers.transmitter.speech import SyllableVoice
from nao_testbed.controllers.transmitter.streams import effector_leaves
from nao_testbed.controllers.transmitter.transmitter import Transmitter
from nao_testbed.models import Robot
from nao_testbed.models.library import Library
from nao_testbed.models.load.library_files import (
    KnownNames,
    build_library,
    library_problems,
)
from nao_testbed.models.load.library_forms import LibraryForm
from nao_testbed.models.values import FloatArray
from nao_testbed.testing import check_trace
from tests.controllers.arbitration.gate_setup import KeepingRobot
from tests.controllers.schemas.schema_world import Stage

ENTRIES: dict[str, Any] = {
    "motions": {
        "test wave": {
            "angles_deg": {"RShoulderPitch": [[0.3, 60], [0.6, 80]]},
        },
        "test wave and shift weight": {
            "angles_deg": {
                "RShoulderPitch": [[0.3, 60], [0.6, 80]],
                "LHipRoll": [[0.3, 5], [0.6, 7]],
                "RHipRoll": [[0.3, -5], [0.6, -7]],
            },
        },
        "test bow": {
            "from": "Stand",
            "to": "Stand",
            "angles_deg": {"HeadPitch": [[2.0, 20], [4.0, -9.74]]},
        },
        "test dance": {
            "angles_deg": {
                "RShoulderPitch": [[0.5, 40], [1.0, 60], [1.5, 80]],
                "HeadYaw": [[0.5, 20], [1.5, -20]],
            },
            "stops_s": [0.5, 1.0],
        },
        "Stand to Crouch, short": {
            "from": "Stand",
            "to": "Crouch",
            "postures": [[0.6, "Crouch"]],
        },
        "StandInit to Stand, short": {
            "from": "StandInit",
            "to": "Stand",
            "postures": [[0.6, "Stand"]],
        },
        "Crouch to Stand, short": {
            "from": "Crouch",
            "to": "Stand",
            "postures": [[0.6, "Stand"]],
        },
        "Crouch to Sit, legs": {
            "from": "Crouch",
            "to": "Sit",
            "postures": [[1.0, "Sit"]],
            "joints": ["Legs"],
        },
    },
    "lights": {
        "test eyes": {
            "steps": [{"at_s": 0, "leds": ["Left eye"], "colour": "#00ff00"}],
        }
    },
    "sounds": {"test hello": {"text": "Hello"}},
    "commands": {
        "test bow and say": {
            "motion": "test bow",
            "sound": "test hello",
            "points": {"motion": 30, "sound": 70},
        },
        "test greeting": {
            "motion": "test wave",
            "light": "test eyes",
            "sound": "test hello",
            "points": {"motion": 20, "light": 10, "sound": 70},
        },
        "test greeting with steps": {
            "motion": "test wave and shift weight",
            "light": "test eyes",
            "sound": "test hello",
            "points": {"motion": 20, "light": 10, "sound": 70},
        },
    },
    "transitions": [
        {"from": "StandInit", "to": "Stand", "motion": "StandInit to Stand, short"},
        {"from": "Stand", "to": "Crouch", "motion": "Stand to Crouch, short"},
        {"from": "Crouch", "to": "Stand", "motion": "Crouch to Stand, short"},
        {"from": "Crouch", "to": "Sit", "motion": "Crouch to Sit, legs"},
    ],
}


def with_test_library(robot: Robot) -> Robot:
    """Return the robot with the library of these tests only."""
    form = LibraryForm.model_validate(ENTRIES)
    bare = replace(robot, library=Library())
    problems = library_problems(form, bare, KnownNames.of_library(bare.library))
    assert not problems, problems
    return replace(bare, library=bare.library.with_more(build_library(form, bare)))


class ObedientRobot(KeepingRobot):
    """Robot that reaches its set-points at once; the test sets its other sensors."""

    def __init__(self, robot: Robot, posture: str) -> None:
        super().__init__(robot)
        self.q = robot.posture(posture).angles.copy()
        self.target = self.q.copy()
        self.temperature = np.full(len(robot.motors), 30.0)
        self.current = np.zeros(len(robot.motors))
        self.gyro = np.zeros(3)
        self.up = np.array([0.0, 0.0, 1.0])
        self.fsr = np.full(len(robot.force_sensors), 6.0)
        self.stuck: set[str] = set()
        """Joints that do not follow their set-points."""

    def sense(self, time_s: float) -> Observation:
        return replace(
            super().read(),
            time_s=time_s,
            temperature=self.temperature.copy(),
            current=self.current.copy(),
            gyro=self.gyro.copy(),
            accelerometer=9.81 * self.up,
            fsr=self.fsr.copy(),
        )

    def obey(self) -> None:
        free = [name not in self.stuck for name in self.robot.joint_names]
        self.q = np.where(free, self.target, self.q)


@dataclass
class Body(Stage):
    """A robot run slot by slot."""

    robot: Robot
    sensors: ObedientRobot
    ledger: Ledger
    gate: Gate
    transmitter: Transmitter
    commands: CommandController
    posture: PostureMonitor
    runtime: SchemaRuntime
    events: list[Event]
    tick: int = -1
    written: list[FloatArray] = field(default_factory=list)
    """(n_joints,) set-points in force after each slot, in rad."""

    @classmethod
    def of(
        cls,
        robot: Robot,
        posture: str = "Stand",
        seed: int = 0,
        turned: Mapping[str, float] | None = None,
    ) -> "Body":
        """Start in a posture, with some joints at other angles, in rad."""
        sensors = ObedientRobot(robot, posture)
        for joint, angle in (turned or {}).items():
            place = robot.joint_index(joint)
            sensors.q[place] = sensors.target[place] = angle
        events: list[Event] = []
        ledger = Ledger(
            ResourceTree(robot.resources),
            LedgerCfg(preemption=Preemption.BY_PRIORITY),
            listeners=[events.append],
        )
        gate = Gate(ledger, sensors)
        transmitter = Transmitter(gate, ledger)
        commands = CommandController(
            robot.library,
            effectors=effector_leaves(robot),
            transmitter=transmitter,
            voice=SyllableVoice(),
            ledger=ledger,
            belief=PostureBelief(posture),
        )
        monitor = PostureMonitor(ledger, robot)
        ledger.set_state("State", robot.posture(posture).state, 0)
        runtime = SchemaRuntime(
            robot,
            ledger,
            GateActuators(gate, commands, ledger),
            seed=seed,
            posture=monitor,
        )
        return cls(
            robot=robot,
            sensors=sensors,
            ledger=ledger,
            gate=gate,
            transmitter=transmitter,
            commands=commands,
            posture=monitor,
            runtime=runtime,
            events=events,
        )

    def slot(self, count: int = 1) -> Self:
        for _ in range(count):
            self.tick += 1
            tick, seen = self.tick, self.sensors.sense(self.tick * 0.01)
            if tick % 2 == 0:
                self.posture.step(seen, tick)
            self.runtime.step(tick, seen)
            self.commands.step(tick)
            self.transmitter.step(tick)
            self.ledger.advance(tick)
            self.gate.flush(tick)
            self.transmitter.settle(tick)
            self.sensors.obey()
            self.written.append(self.sensors.target.copy())
        return self

    def seconds(self, time_s: float) -> Self:
        return self.slot(round(time_s * 100))

    def until(self, path: str, state: State, within_s: float) -> float:
        """Run until an instance is in a state; return the duration, in s."""
        begin = self.tick
        while self.state(path) is not state:
            self.slot()
            assert self.tick - begin <= within_s * 100, f"{path} is {self.state(path)}"
        return (self.tick - begin) * 0.01

    def angle(self, joint: str) -> float:
        """Return the set-point of a joint in force, in rad."""
        return float(self.sensors.target[self.robot.joint_index(joint)])

    def failures(self) -> list[str]:
        """Return violations, schema errors, and rejected calls of non-winners."""
        return [
            *map(str, check_trace(self.events)),
            *map(str, check_trace(self.events)),
            *(f"{event.path}: {event.error}" for event in self.told(SchemaFailed)),
            *(f"{event.path}: {event.what}" for event in self.told(NotWinner)),
        ]

    def started(self) -> list[tuple[int, str]]:
        """Return slot and label of the streams that started."""
        return [(event.tick, event.label) for event in self.told(StreamStarted)]

    def moved(self) -> set[str]:
        """Return the joints whose set-points ever changed."""
        rows = np.array(self.written)
        changed = np.ptp(rows, axis=0) > 0.0
        return {n for n, c in zip(self.robot.joint_names, changed, strict=True) if c}

    def fastest(self) -> FloatArray:
        """Return the largest step of each set-point from slot to slot, in rad/s."""
        rows = np.array(self.written)
        return np.asarray(np.abs(np.diff(rows, axis=0)).max(axis=0) / 0.01)
