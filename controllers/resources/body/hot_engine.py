"""`hotEngine`: a motor that is too hot is occupied until it has cooled (RM-43, RM-45).

A motor is hot from `onset_degc` on and cool again below `release_degc`; in between it
stays what it was. While hot it is occupied and the energy sent to it is lowered: with
stiffness at most `effort_cap`, it holds its safe set-point and cools.

A motor whose sensor fails stays what it was, for a few readings; after these it counts
as hot until its sensor says that it is cool. That of one motor is no matter to others.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controllers.resources.body.virtual_owner import (
    HOT_ENGINE,
    Occupation,
    VirtualOwner,
)
from controllers.resources.gate.device_map import map_devices
from controllers.resources.ledger import Ledger
from models import BadInput, Robot
from models.real_numbers import is_fraction, short
from models.resource_node import DeviceKind


@dataclass(frozen=True, kw_only=True)
class HotEngineCfg:
    """When a motor is too hot, and what is left of it."""

    name: str = HOT_ENGINE
    """Of the virtual owner, as the document calls it [RM-43]."""
    onset_degc: float = 76.0
    """Hot from here on, in °C: where a NAO begins to reduce stiffness [nao-lola]
    [hulk]."""
    release_degc: float = 70.0
    """Cool below this, in °C: where a NAO gives the stiffness back [hulk]."""
    effort_cap: float = 0.2
    """Largest stiffness of a hot motor, in [0, 1]. With 0.22 or less every motor of the
    NAO cools below 70 °C even if it gives all of that for ever: steady state T = Tₑ +
    R (cap τ_max / K)² / λ with the one-node numbers of the robot; the wrists and hands
    are the tightest. A leg keeps 0.6 N·m; simulated, the NAO goes on standing and
    crouching with that, both legs hot."""
    is_total: bool = True
    """Take the motor from its owner; False leaves it usable with the effort capped
    (reading of RM-46)."""
    failures_borne: int = 10
    """Readings in a row that a sensor may fail before its motor counts as hot. Read
    once a second, a cool motor warms by less than 10 K in that time, at full effort."""

    def __post_init__(self) -> None:
        """Refuse thresholds that would chatter, and a cap that is no stiffness.

        Raises:
            BadInput: one of them.
        """
        if not self.release_degc < self.onset_degc < float("inf"):
            raise BadInput(
                f"hot from {self.onset_degc} °C and cool below {self.release_degc} °C; "
                "give finite numbers, the second below the first, such as 76 and 70."
            )
        if not is_fraction(self.effort_cap):
            raise BadInput(
                f"effort cap of a hot motor is {short(self.effort_cap)}; give a "
                "stiffness from 0 to 1."
            )
        if self.failures_borne < 0:
            raise BadInput(
                f"failures_borne is {self.failures_borne} readings; give a whole "
                "number from 0 up."
            )


class HotEngine:
    """Watches the temperatures; call `step` at a period of its own, once a second say.

    Between two calls a motor warms by less than a degree at full effort.
    """

    def __init__(
        self, ledger: Ledger, robot: Robot, cfg: HotEngineCfg | None = None
    ) -> None:
        """Take every motor as cool.

        Args:
            ledger: gets its leaves occupied.
            robot: whose motors; one without a leaf is nobody's and out of reach.
            cfg: thresholds and what is left of a hot motor.
        """
        self.cfg = cfg or HotEngineCfg()
        self._owner = VirtualOwner(ledger, self.cfg.name)
        leaf_of = {
            motor: leaf.name
            for leaf in map_devices(ledger.tree.root, robot).of_kind(DeviceKind.MOTOR)
            for motor in robot.motor_of_joint[leaf.joints].tolist()
        }
        self._leaves = tuple(leaf_of.get(m) for m in range(len(robot.motors)))
        self._is_hot = np.zeros(len(self._leaves), dtype=np.bool_)
        self._failures = np.zeros(len(self._leaves), dtype=np.int64)
        self._names = robot.motor_names
        self.failed_readings = 0
        """Count of temperatures that were no finite number, of all motors."""
        self._occupation = Occupation(
            effort_cap=self.cfg.effort_cap, is_total=self.cfg.is_total
        )

    @property
    def hot(self) -> tuple[str, ...]:
        """The leaves that it occupies, sorted."""
        return tuple(sorted(self._owner.occupied))

    @property
    def failing(self) -> tuple[str, ...]:
        """The motors whose sensor failed at the last step, in the robot's order."""
        return tuple(self._names[motor] for motor in np.flatnonzero(self._failures))

    @property
    def out_of_reach(self) -> tuple[str, ...]:
        """The hot motors that it cannot occupy: the ledger has no leaf for them."""
        hot = np.flatnonzero(self._is_hot)
        return tuple(self._names[m] for m in hot if self._leaves[m] is None)

    def step(self, temperature: NDArray[np.float64], tick: int) -> None:
        """Occupy what has become hot, give back what has cooled.

        What the ledger refuses in one step it is told again in the next one.

        Args:
            temperature: (n_motors,) as the robot reports it, in °C; what is not finite
                is a failed sensor.
            tick: now.

        Raises:
            BadInput: there is not one temperature for each motor, and nothing changes;
                or the tick is over, and only the motors' status does.
        """
        if temperature.shape != self._is_hot.shape:
            raise BadInput(
                f"temperatures have shape {temperature.shape}; give "
                f"{self._is_hot.shape}, one a motor."
            )
        has_failed = ~np.isfinite(temperature)
        self.failed_readings += int(np.count_nonzero(has_failed))
        self._failures = np.where(has_failed, self._failures + 1, 0)
        limit = np.where(self._is_hot, self.cfg.release_degc, self.cfg.onset_degc)
        is_hot = np.where(has_failed, self._is_hot, temperature >= limit)
        self._is_hot = is_hot | (self._failures > self.cfg.failures_borne)
        hot = (self._leaves[motor] for motor in np.flatnonzero(self._is_hot))
        self._owner.occupy({leaf: self._occupation for leaf in hot if leaf}, tick)
