"""NAO's statuses 0 to 3, each with its share of the commanded stiffness.

What is published [nao-lola] [hulk]: from 76 °C on the stiffness starts to be reduced
(status 1) until the joint is below 70 °C again; at status 2 it is reduced by more than
30 %; at status 3 it is 0. Everything else is an estimate: status 2 from 80 °C, status
3 from 90 °C, and release 6 K below the onset there too, as for status 1.

The law: joints of a motor at status s get the commanded stiffness times factor[s],
with factors 1, 0.85, 0.6 and 0 (estimates that respect the words above). They are
steps and no ramp, so that torques stay as they are between two thresholds.
"""

from dataclasses import dataclass

import numpy as np

from models import BadInput, Robot
from sim.heating import FloatArray
from sim.protection.seam import IntArray, ProtectionState, StatusChange

Three = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class NaoProtectionCfg:
    """Temperatures and factors of the three statuses above normal."""

    onset_degc: Three = (76.0, 80.0, 90.0)
    """A status begins here; the first is published, the others are estimates."""
    release_degc: Three = (70.0, 74.0, 84.0)
    """A status ends below this; the first is published, the others are estimates."""
    factor: Three = (0.85, 0.6, 0.0)
    """Share of the commanded stiffness at each status; the last is published."""

    def __post_init__(self) -> None:
        """Refuse thresholds that are not in order, and factors that do not fall.

        Raises:
            BadInput: one of them.
        """
        onset, release, factor = self.onset_degc, self.release_degc, self.factor
        if not (
            onset[0] < onset[1] < onset[2] and release[0] < release[1] < release[2]
        ):
            raise BadInput(
                f"onsets {onset} and releases {release} °C must rise with the status."
            )
        if not all(low < high for low, high in zip(release, onset, strict=True)):
            raise BadInput(
                f"releases {release} °C must be below the onsets {onset} °C."
            )
        if not 1.0 >= factor[0] >= factor[1] >= factor[2] >= 0.0:
            raise BadInput(
                f"factors {factor} must fall with the status, within [0, 1]."
            )


class NaoProtection:
    """The product's protection, joint by joint; see `Protection` for the use."""

    def __init__(self, robot: Robot, cfg: NaoProtectionCfg) -> None:
        """Watch every motor of a robot.

        Args:
            robot: whose joints get the status of their motor.
            cfg: thresholds and factors.
        """
        self._names = robot.motor_names
        self._motor_of_joint = robot.motor_of_joint
        self._onset = np.array(cfg.onset_degc)[:, np.newaxis]  # (3, 1)
        self._release = np.array(cfg.release_degc)[:, np.newaxis]
        self._factor = np.array([1.0, *cfg.factor])
        self.reset()

    @property
    def status(self) -> IntArray:
        """(n_motors,) 0 to 3."""
        return self._status.copy()

    def reset(self) -> None:
        """Put every motor at status 0."""
        self._status = np.zeros(len(self._names), dtype=np.intp)
        self._events: list[StatusChange] = []

    def apply(self, stiffness: FloatArray, temperature: FloatArray) -> FloatArray:
        """Move the statuses and return the stiffness that they leave.

        The status rises to the number of onsets that are reached, and falls to the
        number of releases that the temperature is not below.
        """
        at_least = np.count_nonzero(temperature >= self._onset, axis=0)
        at_most = np.count_nonzero(temperature >= self._release, axis=0)
        status = np.minimum(np.maximum(self._status, at_least), at_most)
        for motor in np.flatnonzero(status != self._status):
            self._events.append(
                StatusChange(
                    motor=self._names[motor],
                    before=int(self._status[motor]),
                    status=int(status[motor]),
                    temperature_degc=float(temperature[motor]),
                )
            )
        self._status = status
        factor: FloatArray = self._factor[status][self._motor_of_joint]
        return stiffness * factor

    def take_events(self) -> tuple[StatusChange, ...]:
        """Return the status changes since the last call."""
        events, self._events = tuple(self._events), []
        return events

    def state(self) -> ProtectionState:
        """Return a copy of the statuses."""
        return ProtectionState(status=self.status, is_shut_down=False)

    def restore(self, state: ProtectionState) -> None:
        """Continue from a copy made by `state`."""
        self._status = state.status.copy()
        self._events = []
