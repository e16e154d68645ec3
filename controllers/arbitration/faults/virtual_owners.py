"""Virtual owners: faults and modes that occupy parts of the body.

The name of a virtual owner is the cause: `RobotModel`, `hotEngine`, `brokenArm`
[ES2535273T3], `energySaving`. A completely occupied part is granted to no owner. A
partly occupied part stays usable with a capped effort.

RobotModel    Occupies parts that this body lacks. The resource tree is the same for all
              body types of a robot, so that a behaviour starts on each: a request for
              missing legs waits until its time limit, and names the owner that holds
              them.
brokenArm     Faults found by a self-test or a person, or injected by an experiment. The
              parts are reported here, and again when they are repaired. Faults may
              overlap: the left arm, and one joint of it. A leaf has the state of its
                  worst fault, and is free after the repair of its last fault.
energySaving  Degraded mode: many joints with less effort, still usable; at a low
              battery the arms keep a fifth of their torque. Holders keep their joints.
hotEngine     A motor counts as hot from `onset_degc` on, and as cool below
              `release_degc` (hysteresis). A hot motor is occupied and its energy
              reduced: with stiffness at most `effort_cap` it holds its safe set-point
              and cools. A motor with a failed sensor keeps its state for a few
              readings, and then counts as hot until its sensor reports a cool motor.
              Other motors are not affected.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.arbitration.gate.device_map import map_devices
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.resources import DeviceKind
from nao_testbed.models.values import is_fraction, short

ROBOT_MODEL, HOT_ENGINE, BROKEN_ARM = "RobotModel", "hotEngine", "brokenArm"
"""Names of the virtual owners of ES2535273."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Occupation:
    """Occupation of a leaf by a virtual owner."""

    effort_cap: float | None
    """Largest stiffness of its joints, in [0, 1]; None: no cap."""
    is_total: bool
    """True if no other owner may use it."""

    def __post_init__(self) -> None:
        cap = self.effort_cap
        if cap is not None and not is_fraction(cap):
            raise BadInput(f"effort cap is {short(cap)}; give a stiffness from 0 to 1.")


class VirtualOwner:
    """Virtual owner that keeps the ledger consistent with its occupied parts.

    As in this whole module, an unknown resource raises `UnknownName` and a past tick
    `BadInput`; then nothing changes.
    """

    def __init__(self, ledger: Ledger, name: str) -> None:
        """Create a virtual owner that occupies nothing.

        Raises:
            BadInput: a real owner has the name.
        """
        ledger.add_virtual_owner(name, ledger.tick)
        self.name = name
        self._ledger = ledger
        self._occupied: dict[str, Occupation] = {}

    @property
    def occupied(self) -> Mapping[str, Occupation]:
        """Occupied leaves that the ledger accepted (a read-only view)."""
        return MappingProxyType(self._occupied)

    def occupy(self, parts: Mapping[str, Occupation], tick: int) -> None:
        """Occupy exactly these parts, each leaf with its strictest occupation.

        New occupations precede the end of old ones, so no part is free in between. The
        ledger is called only for changes; refused ones are repeated at the next call.

        Args:
            parts: resource (leaf or composite) to its occupation.
            tick: present tick.
        """
        wanted: dict[str, Occupation] = {}
        for part, occupation in parts.items():
            for leaf in self._ledger.tree.leaves(part):
                wanted[leaf] = strictest(occupation, wanted.get(leaf, occupation))
        fresh: dict[Occupation, list[str]] = {}
        for leaf, occupation in wanted.items():
            if self._occupied.get(leaf) != occupation:
                fresh.setdefault(occupation, []).append(leaf)
        for how, leaves in fresh.items():
            self._ledger.freeze(
                leaves,
                self.name,
                tick,
                effort_cap=how.effort_cap,
                is_total=how.is_total,
            )
            self._occupied |= dict.fromkeys(leaves, how)
        ended = [leaf for leaf in self._occupied if leaf not in wanted]
        if ended:
            self._ledger.thaw(self.name, tick, ended)
        for leaf in ended:
            del self._occupied[leaf]


def strictest(*occupations: Occupation) -> Occupation:
    """Return the strictest combination of one or more occupations."""
    caps = [o.effort_cap for o in occupations if o.effort_cap is not None]
    is_total = any(o.is_total for o in occupations)
    return Occupation(effort_cap=min(caps, default=None), is_total=is_total)


def freeze_absent(ledger: Ledger, robot: Robot, tick: int) -> None:
    """Occupy the parts that a robot's body lacks, before any behaviour runs.

    For a complete robot nothing changes.

    Args:
        ledger: ledger of the robot's whole tree.
        robot: robot with a body type, as returned by `Robot.with_body`.
        tick: present tick.
    """
    if robot.absent:
        ledger.freeze(robot.absent, ROBOT_MODEL, tick, effort_cap=0.0)


def change_absent(ledger: Ledger, before: Robot, after: Robot, tick: int) -> None:
    """Change the body of a robot: occupy the parts that the new body lacks.

    Parts that the new body has are released; no missing part is free in between.

    Args:
        ledger: ledger of the robot's whole tree.
        before: previous body.
        after: new body.
        tick: present tick.
    """
    lacked, lacks = _leaves(ledger, before), _leaves(ledger, after)
    if new := sorted(lacks - lacked):
        ledger.freeze(new, ROBOT_MODEL, tick, effort_cap=0.0)
    if back := sorted(lacked - lacks):
        ledger.thaw(ROBOT_MODEL, tick, back)


def _leaves(ledger: Ledger, robot: Robot) -> set[str]:
    return {leaf for part in robot.absent for leaf in ledger.tree.leaves(part)}


BROKEN = Occupation(effort_cap=0.0, is_total=True)
"""Limp: a failed drive may do harm with any effort."""


class BrokenPart:
    """Virtual owner of faulty parts."""

    def __init__(self, ledger: Ledger, name: str = BROKEN_ARM) -> None:
        self._owner = VirtualOwner(ledger, name)
        self._faults: dict[str, Occupation] = {}

    @property
    def faults(self) -> tuple[str, ...]:
        """Reported faults, in order of their injection."""
        return tuple(self._faults)

    @property
    def broken(self) -> tuple[str, ...]:
        """Occupied leaves, sorted."""
        return tuple(sorted(self._owner.occupied))

    def inject(
        self, parts: Iterable[str], tick: int, occupation: Occupation = BROKEN
    ) -> None:
        """Report broken parts; a repeated report replaces the occupation of a part.

        Args:
            parts: resources, such as `LElbowRoll` or `Left arm`.
            tick: present tick.
            occupation: unusable and limp, or usable with less effort.

        Raises:
            BadInput: no part is named, or the tick is in the past; nothing changes.
        """
        names = tuple(parts)
        if not names:
            raise BadInput("A fault names no part; name at least one resource.")
        self._follow(self._faults | dict.fromkeys(names, occupation), tick)

    def repair(self, parts: Iterable[str], tick: int) -> None:
        """Report repaired faults, by the names of their report.

        Raises:
            UnknownName: a fault was not reported; nothing changes.
        """
        names = tuple(parts)
        for name in names:
            if name not in self._faults:
                raise UnknownName("Fault", name, self._faults, "the list of faults")
        kept = {part: o for part, o in self._faults.items() if part not in names}
        self._follow(kept, tick)

    def _follow(self, faults: dict[str, Occupation], tick: int) -> None:
        self._owner.occupy(faults, tick)
        self._faults = faults


@dataclass(frozen=True, kw_only=True)
class DegradedMode:
    """Mode with reduced effort of the body's parts."""

    name: str
    """Name of its virtual owner, which is the cause."""
    caps: Mapping[str, float]
    """Resource (leaf or composite) to the largest stiffness of its leaves, in [0, 1];
    of several the smallest counts."""

    def __post_init__(self) -> None:
        if not self.caps:
            raise BadInput(f"mode {self.name!r} caps nothing; name a resource.")
        for resource, cap in self.caps.items():
            if not is_fraction(cap):
                raise BadInput(
                    f"mode {self.name!r} caps {resource!r} at {short(cap)}; give a "
                    "stiffness from 0 to 1."
                )


ENERGY_SAVING = "energySaving"
"""Name of the mode of `energy_saving`."""


def energy_saving(robot: Robot) -> DegradedMode:
    """Return the robot's mode of low stiffness, its role `saving`.

    Raises:
        MissingRole: it has none.
    """
    caps = robot.need_role(robot.roles.saving, "saving", f"mode {ENERGY_SAVING!r}")
    return DegradedMode(name=ENERGY_SAVING, caps=caps)


class DegradedModes:
    """Active modes; with several, the smallest cap of a leaf counts."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._owners: dict[str, VirtualOwner] = {}

    @property
    def in_force(self) -> tuple[str, ...]:
        """Names of the active modes in the order of entry."""
        return tuple(self._owners)

    def enter(self, mode: DegradedMode, tick: int) -> None:
        """Enter a mode, or replace the active mode of the same name.

        Raises:
            UnknownName: the mode caps an unknown resource; nothing changes.
            BadInput: a real owner has its name, or the tick is in the past; nothing
                changes.
        """
        parts = {
            resource: Occupation(effort_cap=cap, is_total=False)
            for resource, cap in mode.caps.items()
        }
        for resource in parts:
            self._ledger.tree.leaves(resource)  # raises for an unknown resource
        known = self._owners.get(mode.name)
        owner = known or VirtualOwner(self._ledger, mode.name)
        owner.occupy(parts, tick)
        self._owners[mode.name] = owner

    def leave(self, name: str, tick: int) -> None:
        """End a mode.

        Raises:
            UnknownName: the mode is not active.
        """
        if name not in self._owners:
            raise UnknownName("Mode", name, self._owners, "the modes in force")
        self._owners[name].occupy({}, tick)
        del self._owners[name]


@dataclass(frozen=True, kw_only=True)
class HotEngineCfg:
    """Temperature thresholds of a hot motor, and its remaining effort."""

    name: str = HOT_ENGINE
    """Name of the virtual owner in ES2535273."""
    onset_degc: float = 76.0
    """Temperature in °C from which a motor is hot: a NAO begins to reduce stiffness
    there [nao-lola] [hulk]."""
    release_degc: float = 70.0
    """Temperature in °C below which a hot motor is cool again: a NAO restores stiffness
    there [hulk]."""
    effort_cap: float = 0.2
    """Largest stiffness of a hot motor, in [0, 1]. With 0.22 or less every motor of the
    NAO cools below 70 °C even at this torque: steady state T = Tₑ +
    R (cap τ_max / K)² / λ with the one-node numbers of the robot; wrists and hands are
    the critical motors. A leg keeps 0.6 N·m; in simulation the NAO still stands and
    crouches with both legs hot."""
    is_total: bool = True
    """True: revoke the motor from its owner; False: it stays usable with capped
    effort."""
    failures_borne: int = 10
    """Number of consecutive failed readings that are tolerated before the motor counts
    as hot. With one reading per second, a cool motor at full effort warms by less than
    10 K in that time."""

    @classmethod
    def of(cls, robot: Robot) -> "HotEngineCfg":
        """Return the thresholds of a robot's own protection, or the defaults."""
        own = robot.protection
        if own is None:
            return cls()
        return cls(onset_degc=own.onset_degc[0], release_degc=own.release_degc[0])

    def __post_init__(self) -> None:
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
    """Monitor of the motor temperatures; call `step` about once a second.

    Within a second a motor warms by less than a degree at full effort.
    """

    def __init__(
        self, ledger: Ledger, robot: Robot, cfg: HotEngineCfg | None = None
    ) -> None:
        self.cfg = cfg or HotEngineCfg.of(robot)
        self._owner = VirtualOwner(ledger, self.cfg.name)
        leaf_of = {
            joint: leaf.name
            for leaf in map_devices(ledger.tree.root, robot).of_kind(DeviceKind.MOTOR)
            for joint in leaf.joints.tolist()
        }
        self._leaves = tuple(
            sorted({leaf_of[j] for j in np.flatnonzero(row).tolist() if j in leaf_of})
            for row in robot.transmission
        )
        self._is_hot = np.zeros(len(self._leaves), dtype=np.bool_)
        self._failures = np.zeros(len(self._leaves), dtype=np.int64)
        self._names = robot.motor_names
        self.failed_readings = 0
        """Number of non-finite temperatures of all motors so far."""
        self._occupation = Occupation(
            effort_cap=self.cfg.effort_cap, is_total=self.cfg.is_total
        )

    @property
    def hot(self) -> tuple[str, ...]:
        """Occupied leaves, sorted."""
        return tuple(sorted(self._owner.occupied))

    @property
    def failing(self) -> tuple[str, ...]:
        """Motors whose sensor failed at the last step, in the robot's order."""
        return tuple(self._names[motor] for motor in np.flatnonzero(self._failures))

    @property
    def out_of_reach(self) -> tuple[str, ...]:
        """Hot motors that cannot be occupied, since the ledger has no leaf for them."""
        hot = np.flatnonzero(self._is_hot)
        return tuple(self._names[m] for m in hot if not self._leaves[m])

    def step(self, temperature: NDArray[np.float64], tick: int) -> None:
        """Occupy motors that have become hot, and release cooled ones.

        Changes that the ledger refuses are repeated in the next step.

        Args:
            temperature: (n_motors,) reported temperatures in °C; a non-finite value
                means a failed sensor.
            tick: present tick.

        Raises:
            BadInput: the number of temperatures differs from the number of motors, and
                nothing changes; or the tick is in the past, and only the motors' status
                changes.
        """
        if temperature.shape != self._is_hot.shape:
            raise BadInput(
                f"temperatures have shape {temperature.shape}; give "
                f"{self._is_hot.shape}, one per motor."
            )
        has_failed = ~np.isfinite(temperature)
        self.failed_readings += int(np.count_nonzero(has_failed))
        self._failures = np.where(has_failed, self._failures + 1, 0)
        limit = np.where(self._is_hot, self.cfg.release_degc, self.cfg.onset_degc)
        is_hot = np.where(has_failed, self._is_hot, temperature >= limit)
        self._is_hot = is_hot | (self._failures > self.cfg.failures_borne)
        hot = [leaf for m in np.flatnonzero(self._is_hot) for leaf in self._leaves[m]]
        self._owner.occupy(dict.fromkeys(hot, self._occupation), tick)
