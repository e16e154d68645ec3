"""Settings of ALMotion, shared by all clients, and the slow sway of breathing."""

from collections.abc import Mapping
from math import pi, sin
from typing import Any

from nao_testbed.experiments.server.naoqi.arguments import known
from nao_testbed.experiments.server.naoqi.motion.curves import Timed
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts

CHAINS = ("Body", "Legs", "Arms", "LArm", "RArm", "Head")
BREATH_RAD = {
    "LShoulderPitch": 0.03,
    "RShoulderPitch": 0.03,
    "LElbowRoll": -0.03,
    "RElbowRoll": 0.03,
    "HeadPitch": 0.01,
}
"""Amplitude of joints for a breath of amplitude 1 (estimates). The legs do not move."""
BREATH_PIECE_S = 3600.0
"""Duration of a breathing task, which is then restarted, in s."""
AFTER_S = 2.0
"""Time in s after a program's motion before the robot breathes again."""


class MotionSettings:
    """Switches and values; each method documents its effect."""

    def __init__(self, parts: Parts) -> None:
        """Create a robot's default settings."""
        self._parts = parts
        self.config: dict[str, Any] = {}
        self.breath = dict.fromkeys(CHAINS, False)
        self.breath_config = {"Bpm": 12.0, "Amplitude": 0.5}
        self.move_arms = {"LArm": True, "RArm": True}
        self._breathing: Any = None

    def set_breath(self, client: str, chain: str, *, is_on: bool) -> None:
        """Enable or disable the sway of arms and head."""
        known("Chain", chain, CHAINS, "this call")
        for name in CHAINS if chain == "Body" else (chain,):
            self.breath[name] = is_on
        if chain == "Arms":
            self.breath["LArm"] = self.breath["RArm"] = is_on
        self._begin_breathing(client)

    def _begin_breathing(self, client: str) -> None:
        motion, body = self._parts.motion, self._parts.body
        before, self._breathing = self._breathing, None
        if before is not None:
            motion.kill([before])
        joints = [
            joint
            for joint in BREATH_RAD
            if any(
                self.breath[chain] and joint in body.chain_joints(chain)
                for chain in ("LArm", "RArm", "Head")
            )
        ]
        if not joints:
            return
        bpm, size = self.breath_config["Bpm"], self.breath_config["Amplitude"]
        rate = 2.0 * pi * bpm / 60.0

        def plan(start: Mapping[str, float]) -> dict[str, Timed]:
            return {
                joint: Timed(
                    _sway(angle, size * BREATH_RAD[joint], rate), BREATH_PIECE_S
                )
                for joint, angle in start.items()
            }

        task = motion.begin(client, "breathing", joints, plan, yields=True)
        self._breathing = task

        def go_on(_: Any) -> None:
            served = self._parts.served
            if self._breathing is task and served.body.ledger.knows(client):
                served.after(AFTER_S, lambda: self._resume(client, task))

        task.future.add_done_callback(go_on)

    def _resume(self, client: str, task: Any) -> None:
        """Resume breathing after a program's motion, unless the setting has changed."""
        if self._breathing is task and self._parts.served.body.ledger.knows(client):
            self._begin_breathing(client)


def _sway(middle: float, size: float, rate: float) -> Any:
    return lambda time_s: middle + size * sin(rate * time_s)
