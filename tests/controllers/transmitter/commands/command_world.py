"""Everything from a command to the devices of a NAO that records its commands."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.arbitration.events import Event
from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import Preemption, Token
from nao_testbed.controllers.transmitter.commands.order import (
    OutputSet,
    PlacedOrder,
    Tokens,
)
from nao_testbed.controllers.transmitter.commands.pipeline import (
    CommandController,
)
from nao_testbed.controllers.transmitter.commands.posture import PostureBelief
from nao_testbed.controllers.transmitter.commands.timing import (
    CommandControllerCfg,
    Enable,
)
from nao_testbed.controllers.transmitter.events import Sent
from nao_testbed.controllers.transmitter.streams import effector_leaves
from nao_testbed.controllers.transmitter.transmitter import Transmitter
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.library import Library, Order, Unit
from nao_testbed.models.load.library_files import (
    KnownNames,
    build_library,
    library_problems,
)
from nao_testbed.models.load.library_forms import LibraryForm
from nao_testbed.models.load.motions import false_end
from nao_testbed.testing import check_trace
from tests.controllers.arbitration.gate_setup import KeepingRobot
from tests.controllers.transmitter.transmitter_world import Told

MOTION, LIGHT, SOUND = Unit
HELLO_SLOTS = 40
"""Length of any text with this voice, in slots."""

ENTRIES: dict[str, Any] = {
    "motions": {
        "Sit to Stand": {
            "from": "Sit",
            "to": "Stand",
            "angles_deg": {"LKneePitch": [[1.5, 60], [3.0, 40]]},
        },
        "Crouch to Sit": {
            "from": "Crouch",
            "to": "Sit",
            "angles_deg": {"RKneePitch": [[1.0, 50]]},
        },
        "wave": {
            "from": "Stand",
            "to": "Stand",
            "angles_deg": {"RShoulderPitch": [[0.5, 60], [1.0, 80]]},
        },
        "bow": {
            "from": "Stand",
            "to": "Crouch",
            "angles_deg": {"HeadPitch": [[0.6, 20]]},
        },
        "nod": {"angles_deg": {"HeadPitch": [[0.2, 10], [0.4, 0]]}},
        "leap": {"angles_deg": {"HeadYaw": [[0.05, 110]]}},
    },
    "transitions": [
        {"from": "Sit", "to": "Stand", "motion": "Sit to Stand"},
        {"from": "Crouch", "to": "Sit", "motion": "Crouch to Sit"},
    ],
    "lights": {
        "eyes green": {
            "steps": [
                {"at_s": 0, "leds": ["Left eye", "Left ear"], "colour": "#00ff00"},
                {"at_s": 0.2, "leds": ["Left eye"], "colour": "#000000", "fade_s": 0.1},
            ]
        }
    },
    "sounds": {
        "hello": {"text": "Hello"},
        "mumble": {"text": "Hm"},
        "beep": {"tone_hz": 440, "length_s": 0.105, "volume": 0.5},
    },
    "commands": {
        "greet": {
            "motion": "wave",
            "light": "eyes green",
            "sound": "hello",
            "points": {"motion": 20, "light": 10, "sound": 70},
        },
        "shine": {
            "light": "eyes green",
            "sound": "beep",
            "points": {"light": 4, "sound": 6},
            "preset": 10,
        },
        "blink": {"light": "eyes green"},
        "rise": {
            "to": "Stand",
            "light": "eyes green",
            "sound": "hello",
            "points": {"motion": 20, "light": 10, "sound": 70},
        },
        "kneel and beep": {"to": "Crouch", "sound": "beep"},
        "nod": {"motion": "nod"},
        "leap": {"motion": "leap"},
        "bow": {"motion": "bow"},
        "bow and beep": {"motion": "bow", "sound": "beep"},
        "whisper": {
            "light": "eyes green",
            "sound": "mumble",
            "points": {"light": 50, "sound": 50},
        },
    },
}


class Hum:
    """Voice that takes 0.4 s for any text and cannot say `Hm`."""

    sample_rate_hz = 16000

    def render(self, text: str) -> NDArray[np.float64]:
        if text == "Hm":
            raise BadInput("there is nothing to say in 'Hm'.")
        return np.full(HELLO_SLOTS * 160, 0.5)


def library_of(robot: Robot, entries: Mapping[str, Any] = ENTRIES) -> Library:
    """Return the library of these entries, for postures of few joints."""
    form = LibraryForm.model_validate(entries)
    assert not library_problems(form, _of_few_joints(robot), KnownNames())
    return build_library(form, robot)


def _of_few_joints(robot: Robot) -> Robot:
    """Return a robot whose postures are the ends of the motions above."""
    angles = np.zeros(len(robot.joints))
    ends = {"LKneePitch": 40, "RKneePitch": 50, "HeadPitch": 20, "RShoulderPitch": 80}
    for joint, angle in ends.items():
        angles[robot.joint_index(joint)] = np.radians(angle)
    postures = {n: replace(p, angles=angles) for n, p in robot.postures.items()}
    return replace(robot, postures=postures)


@dataclass
class Line(Told):
    """One robot with everything from a command to its devices."""

    robot: KeepingRobot
    ledger: Ledger
    gate: Gate
    transmitter: Transmitter
    controller: CommandController
    events: list[Event]
    tick: int = 1
    """Tick of the next slot."""
    is_seen: bool = False
    """True: the robot's state follows the end of a motion."""

    @classmethod
    def of(
        cls,
        robot: Robot,
        *,
        posture: str | None = "Sit",
        enable: Enable = Enable.EXPECTED,
        cfg: CommandControllerCfg | None = None,
        delays: Mapping[Unit, float] | None = None,
        library: Library | None = None,
        is_seen: bool = False,
        checks_ends: bool = False,
    ) -> "Line":
        """Build the line; `is_seen`: the initial state is known too.

        `checks_ends`: motions must end in their declared posture.
        """
        keeping = KeepingRobot(robot)
        events: list[Event] = []
        ledger = Ledger(
            ResourceTree(robot.resources),
            LedgerCfg(preemption=Preemption.BY_PRIORITY, tells_commands=True),
            listeners=[events.append],
        )
        gate = Gate(ledger, keeping)
        states = {name: one.state for name, one in robot.postures.items()}
        transmitter = Transmitter(gate, ledger)
        effectors = effector_leaves(robot)
        controller = CommandController(
            library_of(robot) if library is None else library,
            effectors=effectors,
            transmitter=transmitter,
            voice=Hum(),
            ledger=ledger,
            cfg=cfg or CommandControllerCfg(enable=enable),
            delays=delays,
            belief=PostureBelief(
                posture,
                states if is_seen else None,
                (lambda: ledger.active_state("State")) if is_seen else None,
                false_end=(lambda m, at: false_end(robot, m.tracks, m.start, m.end, at))
                if checks_ends
                else None,
                motors=effectors.motors,
            ),
        )
        line = cls(keeping, ledger, gate, transmitter, controller, events)
        line.is_seen = is_seen
        if is_seen and posture is not None:
            line.see(posture)
        return line

    def see(self, posture: str) -> None:
        """Set the observed posture."""
        state = self.robot.robot.posture(posture).state
        self.ledger.set_state("State", state, self.tick)
        self.controller.belief.set_posture(posture)

    def _watch(self) -> None:
        posture = self.controller.belief.posture
        if posture is not None:
            state = self.robot.robot.posture(posture).state
            if state != self.ledger.active_state("State"):
                self.ledger.set_state("State", state, self.tick)

    @cached_property
    def host(self) -> Token:
        """Return the token of an owner that holds all devices."""
        return self.take("host", "All motors", "Leds", "TTS")

    def submit(
        self, command: str | Order | OutputSet, tokens: Tokens | None = None, **how: Any
    ) -> PlacedOrder:
        """Submit a command now, with the token of `host` by default."""
        return self.controller.submit(command, tokens or self.host, self.tick, **how)

    def interrupt(
        self, command: str | OutputSet, token: Token | None = None, **how: Any
    ) -> PlacedOrder:
        """Interrupt with a command now, with the token of `host` by default."""
        return self.controller.interrupt(command, token or self.host, self.tick, **how)

    def check_rules(self) -> None:
        """Assert that the trace passes all rules."""
        assert not check_trace(self.events)

    def slot(self) -> None:
        """Run one device slot."""
        tick = self.tick
        if self.is_seen:
            self._watch()
        self.controller.step(tick)
        self.transmitter.step(tick)
        self.ledger.advance(tick)
        self.gate.flush(tick)
        self.transmitter.settle(tick)
        self.tick += 1

    def sent_ticks(self, stream: int) -> list[int]:
        return [x.tick for x in self.told(Sent) if x.stream == stream]
