"""What a live robot tells of itself, to whoever looks: plain data."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nao_testbed.controllers.arbitration.manager.front import OwnerRow, ResourceRow
from nao_testbed.controllers.interface.panel import Panel
from nao_testbed.controllers.interface.robot_interface import Observation, Picture
from nao_testbed.controllers.transmitter.buses.group import GroupNow
from nao_testbed.models.values import FloatArray


@dataclass(frozen=True, kw_only=True)
class Group:
    """A resource that an operator takes whole."""

    name: str
    holders: tuple[str, ...]
    """Of its leaves; virtual owners among them."""
    is_mine: bool
    """Whether the operator may command all of it."""
    wait_left_s: float | None = None
    """Until the operator's request for it times out; None: it waits for nothing."""


@dataclass(frozen=True, kw_only=True)
class SchemaView:
    """An instance of a schema, for who looks."""

    path: str
    """Names from the root down, with '/' between."""
    state: str
    note: str
    """What it waits for, whether it is done, with what it failed."""
    parameters: Mapping[str, str]
    outputs: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class PanelView:
    """What a controller or a schema shows of itself, or why it does not."""

    kind: str
    """`controller` or `schema`."""
    name: str
    """Of the controller, or the schema's path."""
    panel: Panel | None = None
    fault: str = ""


@dataclass(frozen=True, kw_only=True)
class RefusedCommand:
    """What the gate refused."""

    time_s: float
    """The last time."""
    owner: str
    """`nobody`: it came without a token."""
    resource: str
    reason: str
    count: int


@dataclass(frozen=True, kw_only=True)
class Reservations:
    """Who holds what, who waits for it, and what waits in the transmitter."""

    resources: tuple[ResourceRow, ...]
    """From the top of the tree down."""
    owners: tuple[OwnerRow, ...]
    groups: tuple[GroupNow, ...]
    refused: tuple[RefusedCommand, ...] = ()
    """The last one first."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Forecast:
    """How hot a robot's motors will be, if nothing else happens to it."""

    label: str
    """What was supposed to be changed."""
    is_change: bool
    """Whether anything was."""
    time_s: float
    """Of the robot when it was asked for."""
    physics_s: float
    """Seconds on which it rests in which every step was taken."""
    is_steady: bool
    """Whether the torques had settled; else it is of a robot that still moves."""
    is_final: bool
    """Whether no better one comes."""
    falls: bool
    """Whether it falls on the way; temperatures are then of no use."""
    past_s: FloatArray
    """(n_past,) times of the robot."""
    past_degc: FloatArray
    """(n_past, n_joints) true temperature of the joints' motors then, in °C."""
    ahead_s: FloatArray
    """(n_times,) from when it was asked for."""
    degc: FloatArray
    """(3, n_times, n_joints) in °C: 5 %, as the motors are known, 95 %."""
    reach_s: FloatArray
    """(3, n_joints) until 80 °C, likewise, earliest first; inf: never."""
    watts: float
    """Mean joule loss of all motors."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Moment:
    """A robot at one time, for who looks."""

    time_s: float
    late_s: float
    """How far it is behind the clock on the wall, in s."""
    n_taken: int = 0
    """Wishes that it has taken since it began."""
    controller: str
    q: FloatArray
    """(n_joints,) true angles in rad."""
    position: FloatArray
    """(3,) of the base in the world, in m."""
    quaternion: FloatArray
    """Of the base, x y z w."""
    degc: FloatArray
    """(n_joints,) true temperature of the joints' motors in °C."""
    error_deg: FloatArray
    """(n_joints,) true angle minus encoder angle; NaN unless known."""
    loss_w: FloatArray
    """(n_joints,) joule loss of the legs' motors in the last slot; NaN of others."""
    least_w: FloatArray
    """(n_joints,) likewise where the legs together lose the least; NaN unless known."""
    seen: Observation
    """What the sensors say."""
    lights: FloatArray
    """(n,) brightness of LED groups, in the order of `sim.effectors.colour_names`."""
    says: str
    """What is heard from its loudspeakers, empty in silence."""
    picture: Picture | None = None
    """That was asked for, in one moment alone."""
    has_fallen: bool
    groups: tuple["Group", ...]
    """What the operator may take, and who has it."""
    schemas: tuple[SchemaView, ...]
    panels: tuple[PanelView, ...]
    reservations: Reservations | None = None
    """None: as in the moment before."""
    forecast: Forecast | None = None
    """A new one, in one moment alone."""
    tick_s: float = 0.01
    """Length of a slot in s."""
    said: tuple[str, ...]
    """What became of the operator's wishes, the newest last."""

    @property
    def useless_w(self) -> FloatArray:
        """Return (n_joints,) what the motors lose above the least; 0 unless known."""
        return np.maximum(np.nan_to_num(self.loss_w - self.least_w), 0.0)
