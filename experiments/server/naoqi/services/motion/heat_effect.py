"""Temperature statuses of the motors, their diagnosis, and its effect.

A motor's status is 0 to 3 by the thresholds of `sim.thermal.protection` (`nao`). Its
error is set at status 2, and cleared only at 0 [naoqi-api]. While a chain has an error
and the effect is enabled, an arm or the head has no stiffness. `wakeUp` is refused
while a leg has an error, and at status 3 the legs have no stiffness.

A NAO on hot legs moves to a safe posture at status 2; this robot does not, since
`hotEngine` already holds the hot motors with a capped effort.
"""

from functools import partial
from typing import Any

import numpy as np

from nao_testbed.experiments.server.naoqi.memory.memory_keys import FIRST_VALUES, PREFIX
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.sim.thermal.protection import CRITICAL, make_protection

LOOK_S = 1.0
"""Period in s between two readings of the temperatures."""
SERIOUS = 2
"""Status with severity 1 of the diagnosis; `CRITICAL` has severity 2."""


class HeatEffect:
    """Monitor of one robot's motor temperatures."""

    def __init__(self, parts: Parts) -> None:
        """Create the monitor with every motor cool."""
        self._parts, self._served = parts, parts.served
        robot = parts.served.robot
        n = len(robot.motors)
        self._protection = make_protection("nao", robot)
        self._degc = np.zeros(n)
        """(n_motors,) newest temperatures in °C that the robot has reported."""
        self.status = [0] * n
        self.has_error = [False] * n
        self.is_on = True
        """True if errors have an effect (`setDiagnosisEffectEnabled`)."""
        self._raised: dict[str, Any] = dict(FIRST_VALUES)
        self._chain_of = {
            joint: chain
            for chain, joints in parts.body.chains.items()
            for joint in joints
        }
        for k, motor in enumerate(robot.motor_names):
            broken = partial(self._is_broken, motor)
            parts.memory.add_live(
                {
                    f"{PREFIX}{motor}/Temperature/Sensor/Status": partial(
                        self.status.__getitem__, k
                    ),
                    f"Diagnosis/Temperature/{motor}/Error": partial(self._error, k),
                    f"Diagnosis/Active/{motor}/Error": broken,
                    f"Diagnosis/Passive/{motor}/Error": broken,
                }
            )
        self._poll()

    def _error(self, k: int) -> int:
        return int(self.has_error[k])

    def _is_broken(self, motor: str) -> int:
        return int(motor in self._served.body.sim.failed_motors)

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
        now, before = self._served.seen.temperature, self._degc
        self._degc = np.where(np.isfinite(now), now, before)
        self._protection.apply(np.ones(len(self._served.robot.joints)), self._degc)
        self._protection.take_events()  # not needed here
        self.status[:] = self._protection.status.tolist()
        for k, status in enumerate(self.status):
            self.has_error[k] = status >= SERIOUS or (self.has_error[k] and status > 0)
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
        """Raise the events whose values have changed."""
        memory, hot = self._parts.memory, self.hot_devices()
        before = self._raised["HotDeviceDetected"]
        if gone := [device for device in before if device not in hot]:
            memory.raise_event("DeviceNoLongerHotDetected", gone)
        held = self._chains_with_error() if self.is_on else []
        for name, value in {
            "HotDeviceDetected": hot,
            "HotJointDetected": hot,
            "TemperatureStatusChanged": [max(self.status, default=0), hot],
            "TemperatureDiagnosisErrorChanged": self.diagnosis(),
            "ALMotion/Protection/DisabledDevicesChanged": [
                [chain, True] for chain in dict.fromkeys(held)
            ],
        }.items():
            if self._raised[name] != value:
                memory.raise_event(name, value)
            self._raised[name] = value
