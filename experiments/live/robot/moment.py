"""Snapshot of a live robot for viewers: plain data."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nao_testbed.controllers.arbitration.manager.snapshot import OwnerRow, ResourceRow
from nao_testbed.controllers.interface.panel import Panel
from nao_testbed.controllers.interface.robot_interface import Observation, Picture
from nao_testbed.controllers.transmitter.buses.group import GroupSnapshot
from nao_testbed.experiments.common.drawing.power_unit import PowerUnit, power_unit
from nao_testbed.models.values import FloatArray


@dataclass(frozen=True, kw_only=True)
class ResourceGroup:
    """Resource that an operator takes as a whole."""

    name: str
    holders: tuple[str, ...]
    """Holders of its leaves, including virtual owners."""
    is_mine: bool
    """True if the operator may command all of it."""
    wait_left_s: float | None = None
    """Time until the operator's request for it times out, in s; None: no request."""


@dataclass(frozen=True, kw_only=True)
class SchemaView:
    """Instance of a schema, for viewers."""

    path: str
    """Names from the root down, separated by '/'."""
    state: str
    note: str
    """Missing resources, completion or failure."""
    parameters: Mapping[str, str]
    outputs: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class PanelView:
    """Panel of a controller or a schema, or the fault that hides it."""

    kind: str
    """`controller` or `schema`."""
    name: str
    """Name of the controller, or the schema's path."""
    panel: Panel | None = None
    fault: str = ""


@dataclass(frozen=True, kw_only=True)
class RefusedCommand:
    """Commands refused by the gate."""

    time_s: float
    """Time of the last refusal, in s."""
    owner: str
    """Owner; 'nobody' without a token."""
    resource: str
    reason: str
    count: int


@dataclass(frozen=True, kw_only=True)
class Reservations:
    """Holders and waiters of all resources, and groups in the transmitter."""

    resources: tuple[ResourceRow, ...]
    """Resources from the root of the tree down."""
    owners: tuple[OwnerRow, ...]
    groups: tuple[GroupSnapshot, ...]
    refused: tuple[RefusedCommand, ...] = ()
    """Refused commands, newest first."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Forecast:
    """Predicted temperatures of a robot's motors, without further events."""

    label: str
    """Description of the assumed change."""
    is_change: bool
    """True if a change was assumed."""
    time_s: float
    """Time of the robot at the request, in s."""
    physics_s: float
    """Time that was simulated with every step, in s."""
    is_steady: bool
    """True if the torques had settled; otherwise the robot was still moving."""
    is_final: bool
    """True if no better forecast follows."""
    falls: bool
    """True if the robot falls; its temperatures are then meaningless."""
    past_s: FloatArray
    """(n_past,) times of the robot."""
    past_degc: FloatArray
    """(n_past, n_joints) true motor temperatures at these times, in °C."""
    ahead_s: FloatArray
    """(n_times,) time since the request, in s."""
    degc: FloatArray
    """(3, n_times, n_joints) in °C: 5 %, nominal motors, 95 %."""
    reach_s: FloatArray
    """(3, n_joints) time until 80 °C in s, same order, earliest first; inf: never."""
    watts: float
    """Mean joule loss of all motors, in W."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Moment:
    """State of a robot at one time, for viewers."""

    time_s: float
    late_s: float
    """Delay behind the wall clock, in s."""
    n_taken: int = 0
    """Number of operator requests received since the start."""
    controller: str
    q: FloatArray
    """(n_joints,) true angles in rad."""
    position: FloatArray
    """(3,) position of the base in the world, in m."""
    quaternion: FloatArray
    """Orientation of the base, x y z w."""
    degc: FloatArray
    """(n_joints,) true temperature of the joints' motors in °C."""
    error_deg: FloatArray
    """(n_joints,) true angle minus encoder angle; NaN if unknown."""
    loss_w: FloatArray
    """(n_joints,) last joule loss of the legs' motors, in W; NaN for others."""
    least_w: FloatArray
    """(n_joints,) loss in W at the minimum for the legs together; NaN if unknown."""
    legs_w: tuple[float, float] = (np.nan, np.nan)
    """Last joule loss of all motors of the legs and its minimum, in W; NaN if
    unknown."""
    seen: Observation
    """Sensor values."""
    lights: FloatArray
    """(n,) brightness of LED groups, in the order of `sim.effectors.colour_names`."""
    says: str
    """Text of its loudspeakers, empty in silence."""
    picture: Picture | None = None
    """Requested picture, in one moment only."""
    has_fallen: bool
    groups: tuple["ResourceGroup", ...]
    """Resources that the operator may take, with their holders."""
    schemas: tuple[SchemaView, ...]
    panels: tuple[PanelView, ...]
    reservations: Reservations | None = None
    """Holders and waiters; None: unchanged since the last moment."""
    forecast: Forecast | None = None
    """New forecast, in one moment only."""
    tick_s: float = 0.01
    """Length of a slot in s."""
    said: tuple[str, ...]
    """Results of the operator's requests, newest last."""

    @property
    def useless_w(self) -> FloatArray:
        """Return (n_joints,) the loss above the minimum in W; 0 if unknown."""
        return np.maximum(np.nan_to_num(self.loss_w - self.least_w), 0.0)

    def power_unit(self, thermal: object, *, symbol: str = "%") -> PowerUnit:
        """Return W, or the minimum of the legs if motor constants are guesses."""
        return power_unit(thermal, "minimum of the legs", self.legs_w[1], symbol=symbol)
