"""Temperature statuses of the motors, their diagnosis, and its effect.

A motor's status is 0 to 3 by the thresholds of `sim.thermal.protection` (`nao`). Its
error is set at status 2, and cleared only at 0 [naoqi-api]. While a chain has an error
and the effect is enabled, an arm or the head has no stiffness. `wakeUp` is refused
while a leg has an error, and at status 3 the legs have no stiffness.

A NAO on hot legs moves to a safe posture at status 2; this robot does not, since
`hotEngine` already holds the hot motors with a capped effort.
"""

import numpy as np

from nao_testbed.experiments.server.naoqi.memory.memory_keys import (
    FIRST_VALUES,
    PREFIX,
)
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.sim.thermal.protection import PROTECTIONS

LOOK_S = 1.0
"""Period in s between two readings of the temperatures."""
SERIOUS, CRITICAL = 2, 3
"""Statuses with the severities 1 and 2 of the diagnosis."""


class HeatEffect:
    """Monitor of one robot's motor temperatures."""

    def __init__(self, parts: Parts) -> None:
        """Create the monitor with every motor cool."""
        self._parts, self._served = parts, parts.served
        robot = parts.served.robot
        n = len(robot.motors)
        self.status = [0] * n
        self.has_error = [False] * n
        self.is_on = True
        """True if errors have an effect (`setDiagnosisEffectEnabled`)."""
        self._raised: dict[str, object] = {}
        self._chain_of = {
            joint: chain
            for chain, joints in parts.body.chains.items()
            for joint in joints
        }
        for k, motor in enumerate(robot.motor_names):
            parts.memory.add_live(
                {
                    f"{PREFIX}{motor}/Temperature/Sensor/Status": (
                        lambda k=k: self.status[k]  # type: ignore[misc]
                    ),
                    f"Diagnosis/Temperature/{motor}/Error": (
                        lambda k=k: int(self.has_error[k])  # type: ignore[misc]
                    ),
                    **{
                        f"Diagnosis/{kind}/{motor}/Error": (
                            lambda m=motor: int(
                                m in self._served.body.sim.failed_motors
                            )  # type: ignore[misc]
                        )
                        for kind in ("Active", "Passive")
                    },
                }
            )
        self._poll()

    @property
    def forbids_wake_up(self) -> bool:
        """Return True if a leg has an error with effect."""
        return self.is_on and bool({"LLeg", "RLeg"} & set(self._chains_with_error()))

    def diagnosis(self) -> list[object]:
        """Return the worst severity, 0 to 2, and the affected chains."""
        worst, chains = 0, dict[str, int]()
        for k, motor in enumerate(self._served.robot.servo_names):
            severity = self.status[k] - 1 if self.has_error[k] else 0
            if severity > 0:
                chain = self._chain_of.get(motor, motor)
                chains[chain] = max(chains.get(chain, 0), severity)
                worst = max(worst, severity)
        return [worst, [chain for chain, s in chains.items() if s == worst]]

    def hot_devices(self) -> list[str]:
        """Return the motors whose status is not 0."""
        names = self._served.robot.motor_names
        return [name for name, status in zip(names, self.status, strict=True) if status]

    def _poll(self) -> None:
        cfg = PROTECTIONS["nao"]
        degc = self._served.seen.temperature
        for k, value in enumerate(degc.tolist()):
            now = self.status[k]
            if not np.isfinite(value):
                continue
            while now < CRITICAL and value >= cfg.onset_degc[now]:
                now += 1
            while now > 0 and value < cfg.release_degc[now - 1]:
                now -= 1
            self.status[k] = now
            self.has_error[k] = now >= SERIOUS or (self.has_error[k] and now > 0)
        self._put_effect()
        self._raise_event()
        self._served.after(LOOK_S, self._poll)

    def _chains_with_error(self) -> list[str]:
        names = self._served.robot.servo_names
        return [
            self._chain_of.get(name, name)
            for name, error in zip(names, self.has_error, strict=True)
            if error
        ]

    def _put_effect(self) -> None:
        """Remove the stiffness of overheated chains."""
        robot, body = self._served.robot, self._parts.body
        cap = np.ones(len(robot.joints))
        if self.is_on:
            limp = {c for c in self._chains_with_error() if c not in {"LLeg", "RLeg"}}
            names = robot.servo_names
            for name, status in zip(names, self.status, strict=True):
                if status >= CRITICAL and self._chain_of.get(name, "").endswith("Leg"):
                    limp |= {"LLeg", "RLeg"}
            for chain in limp:
                cap[body.indices(list(body.chains.get(chain, ())))] = 0.0
        self._served.stiffness.cap = cap

    def _raise_event(self) -> None:
        memory, hot = self._parts.memory, self.hot_devices()
        before = self._raised.get("HotDeviceDetected", [])
        assert isinstance(before, list)
        status = [max(self.status, default=0), hot]
        gone = [device for device in before if device not in hot]
        if hot != before:
            memory.raise_event("HotDeviceDetected", hot)
            memory.raise_event("HotJointDetected", hot)
        if gone:
            memory.raise_event("DeviceNoLongerHotDetected", gone)
        self._raised["HotDeviceDetected"] = hot
        for name, value in (
            ("TemperatureStatusChanged", status),
            ("TemperatureDiagnosisErrorChanged", self.diagnosis()),
            (
                "ALMotion/Protection/DisabledDevicesChanged",
                [
                    [chain, True]
                    for chain in dict.fromkeys(self._chains_with_error())
                    if self.is_on
                ],
            ),
        ):
            if self._raised.get(name, FIRST_VALUES[name]) != value:
                memory.raise_event(name, value)
            self._raised[name] = value
