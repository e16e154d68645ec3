"""Says where to look next: what has not been seen for long, or calls for a look.

ATTENTION of [jdec-urjc, section 4.4] keeps a picture of the whole scene, since a camera
sees a small part of it at a time. Here it is a grid over the yaw and pitch of the head.
The interest of a cell grows while it is not seen and is gone once it has been; what is
salient (a face, a noise: its modulation) adds to it. Of two cells of equal interest the
nearer one comes first.
"""

from dataclasses import dataclass
from math import radians

import numpy as np

from controllers.schemas.info import SchemaInfo
from controllers.schemas.library.grid import Grid
from controllers.schemas.library.ranges import check_between
from controllers.schemas.schema import PerceptiveSchema
from controllers.schemas.variables import Variable
from models import BadInput

CELL_DEG = 10.0
"""Width of a cell: a sixth of what the camera sees at once."""
DISTANCE_COST = 0.05
"""Interest that a rad of way is worth: it decides between cells that are nearly equal,
and never lets one wait that has not been seen for much longer."""


@dataclass(frozen=True, kw_only=True)
class AttentionParameters:
    """Where to look, and what for."""

    yaw_deg: float = 60.0
    """Largest angle to either side, in degrees."""
    up_deg: float = 15.0
    """Largest angle upwards, in degrees."""
    down_deg: float = 20.0
    """Largest angle downwards, in degrees."""
    forget_s: float = 10.0
    """Time in which the interest of a cell comes back to 63 %, in s."""
    seen_deg: tuple[float, float] = (20.0, 15.0)
    """Angle from the line of sight within which a cell counts as seen, in yaw and
    pitch, in degrees: somewhat less than half of the NAO's camera, 61 by 48."""
    salient_deg: tuple[tuple[float, float, float], ...] = ()
    """Places that call for a look: yaw (left positive), pitch (down positive), both in
    degrees, and by how much more than others: 1 is twice as much."""

    def __post_init__(self) -> None:
        """Refuse numbers out of range.

        Raises:
            BadInput: one of them.
        """
        check_between("yaw_deg", self.yaw_deg, 5.0, 119.0, "degrees")
        check_between("up_deg", self.up_deg, 0.0, 38.0, "degrees")
        check_between("down_deg", self.down_deg, 0.0, 29.0, "degrees")
        check_between("forget_s", self.forget_s, 0.1, 3600.0, "s")
        for name, value in zip(("yaw", "pitch"), self.seen_deg, strict=True):
            check_between(f"seen_deg ({name})", value, CELL_DEG / 2, 60.0, "degrees")
        if self.up_deg + self.down_deg <= 0.0:
            raise BadInput("up_deg and down_deg are both 0; give room to one of them.")
        for _, _, amount in self.salient_deg:
            check_between("amount of salient_deg", amount, 0.0, 100.0)


class Attention(PerceptiveSchema[AttentionParameters]):
    """Marks what the head has seen, and says what is worth the next look."""

    info = SchemaInfo(
        name="attention",
        about="Says where to look next.",
        period_s=0.1,
        parameters=AttentionParameters,
        outputs=(
            Variable(
                name="yaw",
                type=float,
                unit="rad",
                about="Of the cell that is most worth a look.",
                initial=0.0,
            ),
            Variable(
                name="pitch",
                type=float,
                unit="rad",
                about="Of the same cell.",
                initial=0.0,
            ),
            Variable(
                name="unseen",
                type=float,
                about="Mean interest of all cells: 0 all seen just now, 1 nothing.",
                initial=1.0,
            ),
        ),
    )

    def start(self) -> None:
        """Begin with nothing seen."""
        now, robot = self.parameters, self.robot
        self._yaw = robot.joint_index("HeadYaw")
        self._pitch = robot.joint_index("HeadPitch")
        self._ranges = (now.yaw_deg, now.up_deg, now.down_deg)
        wide, high = 2.0 * now.yaw_deg, now.up_deg + now.down_deg
        self._map = Grid(
            (-radians(now.yaw_deg), radians(now.yaw_deg)),
            (-radians(now.up_deg), radians(now.down_deg)),
            (max(1, round(wide / CELL_DEG)), max(1, round(high / CELL_DEG))),
            initial=1.0,
        )
        self._before_s = self.time_s
        self._note_salient()

    def on_modulated(self) -> None:
        """Take over what is salient now; in other ranges nothing has been seen."""
        now = self.parameters
        if (now.yaw_deg, now.up_deg, now.down_deg) == self._ranges:
            self._note_salient()
        else:
            self.start()

    def perceive(self) -> None:
        """Forget a little, mark what is seen, choose."""
        now, grid = self.parameters, self._map
        q = self.observation.q
        yaw, pitch = float(q[self._yaw]), float(q[self._pitch])
        grid.relax(1.0, self.time_s - self._before_s, now.forget_s)
        self._before_s = self.time_s
        reach = (radians(now.seen_deg[0]), radians(now.seen_deg[1]))
        grid.put(yaw, pitch, reach, 0.0)
        best = grid.highest((yaw, pitch), DISTANCE_COST, self._weight)
        self.write("yaw", best[0])
        self.write("pitch", best[1])
        self.write("unseen", float(grid.values.mean()))

    def _note_salient(self) -> None:
        self._weight = np.ones(self._map.values.shape)
        for yaw_deg, pitch_deg, amount in self.parameters.salient_deg:
            place = self._map.cell(radians(yaw_deg), radians(pitch_deg))
            self._weight[place] += amount
