"""Selection of the contacts among the candidate points (step 650, fig. 7: 710 to 730).

**Touching.** Three criteria detect touch, in any combination [ES2659053T3 ¶650, claim
5]:

- distance: heights above the virtual plane (710), the lowest point (720), and all
  points within the robot's threshold of it (730);
- sensor: the on/off state of the force sensors, for the points that have one;
- both, either, or by default the sensor where there is one and the distance at all
  other points. A lifted robot has a lowest point too: only a sensor can show that it
  does not touch. Buttocks and elbows have no sensor.

**Listed.** The robot is compared with stored postures, each of which lists the body
parts that carry it. Similarity is the root mean square of the angle differences,

    d = sqrt(Σ_i w_i (q_i - q̂_i)² / Σ_i w_i),

and the closest posture counts only when d is within a threshold: "if there is one"
[ES2659053T3 claim 6]. The weights w are 1, and 0 for hands and wrists, which do not
affect the support.

**Chosen** are the touching points that the closest posture lists. If they cannot
balance the robot, three wider sets are tried in turn: points slightly higher above the
virtual plane; points that the posture does not list (a fallen robot keeps the angles of
its posture); both. The first set that balances the robot is used, with a flag. If none
does, the first set is used, with its own flags.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numba
import numpy as np

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.controllers.stiffness.flags import DEGENERATE_CONTACTS, StiffnessFlag
from nao_testbed.controllers.stiffness.kernels import BoolArray, IndexArray
from nao_testbed.models import BadInput, Posture, Robot
from nao_testbed.models.values import FloatArray, NotNegative

ContactCriterion = Literal["distance", "sensor", "both", "either", "sensor-first"]
SensorScope = Literal["effector", "point"]
# Kernels use the index of a criterion.
_CRITERIA: tuple[ContactCriterion, ...] = get_args(ContactCriterion)
_DISTANCE, _SENSOR, _BOTH, _EITHER = map(
    _CRITERIA.index, ("distance", "sensor", "both", "either")
)


@dataclass(frozen=True, kw_only=True)
class ContactCfg(Checked):
    """Criteria for detecting contacts."""

    criterion: ContactCriterion = "sensor-first"
    """`distance`, `sensor` (points without a sensor never touch), `both` (and),
    `either` (or), or `sensor-first`: the sensor where there is one, otherwise the
    distance."""
    sensor_scope: SensorScope = "effector"
    """A point is on when its body part is pressed (`effector`), or only when its own
    sensor is (`point`). Cheap force sensors under a stiff sole often read zero at a
    corner that is on the ground."""
    part_reach_m: NotNegative = 0.03
    """Maximum height of a point above the lowest sensor of its part, in m, with
    `effector`. A sole flat on a slope of 10° spans 18 mm; the toes of a foot that
    rests on its heel are higher, and off."""
    on_newton: NotNegative = 1.5
    """Force on a body part (or point) at which its sensor turns on, in N."""
    off_newton: NotNegative = 0.8
    """Force below which the sensor turns off, in N: 2 of its steps [nao6-datasheet]."""
    threshold_m: NotNegative | None = None
    """Distance to the lowest point (730), in m; None for the robot's own."""
    widest_m: NotNegative = 0.03
    """Distance tried when the points within the threshold cannot balance the robot,
    in m; 0 disables it. An error of 2° in the vertical lifts an elbow that is 0.4 m
    from the feet by 14 mm off the virtual plane."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.off_newton <= self.on_newton:
            raise BadInput(
                f"off_newton = {self.off_newton} N and on_newton = {self.on_newton} N; "
                "give 0 <= off <= on."
            )


@numba.njit(cache=True)
def heights_above_lowest(positions: FloatArray, up: FloatArray) -> FloatArray:
    """Return the height of each point above the lowest one (710, 720).

    Args:
        positions: (n, 3) in the base frame, in m.
        up: (3,) unit normal of the virtual plane.

    Returns:
        (n,) in m, 0 for the lowest.
    """
    height, lowest = np.empty(len(positions)), np.inf
    for k in range(len(positions)):
        p = positions[k]
        height[k] = p[0] * up[0] + p[1] * up[1] + p[2] * up[2]
        lowest = min(lowest, height[k])
    return height - lowest


class ContactDetector:
    """Detector of the touching candidates of one robot, with on/off sensor states."""

    def __init__(self, robot: Robot, cfg: ContactCfg) -> None:
        self._cfg = cfg
        points, sensors = robot.contact_points, robot.force_sensors
        names = [sensor.name for sensor in sensors]
        with_sensor = [(k, p) for k, p in enumerate(points) if p.fsr in names]
        self._sensed = np.array([k for k, _ in with_sensor], dtype=np.intp)  # (n,)
        n = len(with_sensor)
        own = np.array([[name == p.fsr for name in names] for _, p in with_sensor])
        same = np.array(
            [[a.effector == b.effector for _, b in with_sensor] for _, a in with_sensor]
        ).reshape(n, n)
        self._same_part: BoolArray = same.astype(np.bool_)
        # (n, n_force_sensors): sensors that cover each of these points, and the maximum
        # height of a point above the lowest sensor of its part.
        self._pressing: FloatArray = own.reshape(n, len(sensors)).astype(np.float64)
        self._reach = np.inf
        if cfg.sensor_scope == "effector":
            self._pressing = same @ self._pressing
            self._reach = cfg.part_reach_m
        # Points without a sensor on a link that has some: heels and toes of a foot.
        links = {p.link for _, p in with_sensor}
        beside = [
            (k, p)
            for k, p in enumerate(points)
            if p.link in links and p.fsr not in names
        ]
        self._beside = np.array([k for k, _ in beside], dtype=np.intp)  # (m,)
        same_link = [[p.link == s.link for _, s in with_sensor] for _, p in beside]
        self._other_link: FloatArray = np.where(
            np.array(same_link, dtype=np.bool_).reshape(len(beside), n), 0.0, np.inf
        )
        self._threshold = (
            robot.contact_threshold if cfg.threshold_m is None else cfg.threshold_m
        )
        self._criterion = _CRITERIA.index(cfg.criterion)
        self._height: FloatArray = np.zeros(len(points))
        self._on: BoolArray = np.zeros(n, dtype=np.bool_)
        self.reset()

    def reset(self) -> None:
        """Clear the sensor states."""
        self._is_on: BoolArray = np.zeros(len(self._sensed), dtype=np.bool_)

    def detect(
        self, positions: FloatArray, up: FloatArray, fsr: FloatArray
    ) -> BoolArray:
        """Return which candidates touch.

        Args:
            positions: (n_points, 3) of the candidates, base frame, in m.
            up: (3,) unit normal of the virtual plane.
            fsr: (n_force_sensors,) in N.

        Returns:
            (n_points,) booleans.
        """
        touching, self._height = _detect_touching(
            positions,
            up,
            fsr,
            self._pressing,
            self._cfg.on_newton,
            self._cfg.off_newton,
            self._sensed,
            self._same_part,
            self._reach,
            self._criterion,
            self._threshold,
            self._is_on,
            self._on,
        )
        return np.asarray(touching)

    def widen(self) -> BoolArray | None:
        """Return the result of `detect` for the wider distance; None if it is disabled.

        A point on a link with sensors counts only if it is lower than the sensors: heel
        and toes of a foot flat on the ground do not touch, but the toes of a foot that
        points down do.

        Returns:
            (n_points,) booleans, for the arguments of the last `detect`.
        """
        if self._cfg.widest_m <= self._threshold:
            return None
        touching = _combine_criteria(
            self._height, self._cfg.widest_m, self._sensed, self._on, self._criterion
        )
        sole = (self._height[self._sensed] + self._other_link).min(
            axis=1, initial=np.inf
        )
        touching[self._beside] &= self._height[self._beside] < sole
        return np.asarray(touching)


@numba.njit(cache=True)
def _detect_touching(
    positions: FloatArray,
    up: FloatArray,
    fsr: FloatArray,
    pressing: FloatArray,
    on_newton: float,
    off_newton: float,
    sensed: IndexArray,
    same_part: BoolArray,
    reach: float,
    criterion: int,
    threshold: float,
    is_on: BoolArray,
    on: BoolArray,
) -> tuple[BoolArray, FloatArray]:
    """Return the touching candidates and their heights; write the sensor states.

    `is_on` holds the sensor states with their hysteresis. `on` holds the states of the
    points with a sensor; a point above its part's reach is off.
    """
    height = heights_above_lowest(positions, up)
    for s in range(len(sensed)):
        force, lowest = 0.0, np.inf
        for i in range(len(fsr)):
            force += pressing[s, i] * fsr[i]
        for t in range(len(sensed)):
            if same_part[s, t]:
                lowest = min(lowest, height[sensed[t]])
        is_on[s] = force >= (off_newton if is_on[s] else on_newton)
        on[s] = is_on[s] and height[sensed[s]] <= lowest + reach
    return _combine_criteria(height, threshold, sensed, on, criterion), height


@numba.njit(cache=True)
def _combine_criteria(
    height: FloatArray,
    threshold: float,
    sensed: IndexArray,
    on: BoolArray,
    criterion: int,
) -> BoolArray:
    """Combine sensor states with heights under `threshold` (730)."""
    touching = height <= threshold
    if criterion == _SENSOR:
        touching[:] = False
    if criterion == _DISTANCE:
        return touching
    for s in range(len(sensed)):
        k = sensed[s]
        if criterion == _BOTH:
            touching[k] &= on[s]
        elif criterion == _EITHER:
            touching[k] |= on[s]
        else:
            touching[k] = on[s]
    return touching


@dataclass(frozen=True, kw_only=True)
class PostureCfg(Checked):
    """Similarity criterion for postures."""

    threshold_rad: NotNegative = 0.3
    """Root mean square difference below which a typical posture is close, in rad; 0
    disables it. The typical postures of the NAO are at least 0.38 from each other,
    except StandInit and PoseInit (0.04), whose effectors are the same."""
    ignored_joints: tuple[str, ...] | None = None
    """Joints with weight 0; None: the robot's role `idle_joints`."""


class PostureMatcher:
    """Search for the closest typical posture of one robot."""

    def __init__(self, robot: Robot, cfg: PostureCfg) -> None:
        self._cfg = cfg
        typical = [p for p in robot.postures.values() if p.effectors]
        self._postures: tuple[Posture, ...] = tuple(typical)
        self._angles = np.array([p.angles for p in typical]).reshape(
            len(typical), len(robot.joints)
        )
        ignored = cfg.ignored_joints
        if ignored is None:
            ignored = robot.roles.idle_joints
        counts = [name not in ignored for name in robot.joint_names]
        self._weight: FloatArray = np.array(counts, dtype=np.float64)
        self._weight /= max(1.0, self._weight.sum())
        self._any: BoolArray = np.ones(len(robot.contact_points), dtype=np.bool_)
        self._listed: Mapping[str, BoolArray] = {
            posture.name: np.array(
                [point.effector in posture.effectors for point in robot.contact_points]
            )
            for posture in typical
        }

    def closest(self, q: FloatArray) -> Posture | None:
        """Return the typical posture most like `q`, (n_joints,), if there is one."""
        if not self._postures:
            return None
        best, mean_square = _find_closest_posture(self._angles, self._weight, q)
        if mean_square >= self._cfg.threshold_rad**2:
            return None
        return self._postures[best]

    def listed(self, posture: Posture | None) -> BoolArray:
        """Return a mask of the candidate points on the effectors of `posture`.

        Returns:
            (n_points,) booleans, all true without a posture.
        """
        return self._any if posture is None else self._listed[posture.name]


@numba.njit(cache=True)
def _find_closest_posture(
    angles: FloatArray, weight: FloatArray, q: FloatArray
) -> tuple[int, float]:
    """Return the row of `angles` with the smallest d², and that d² in rad².

    Args:
        angles: (n_postures, n_joints) q̂ of each posture, one or more.
        weight: (n_joints,) w / Σ w.
        q: (n_joints,).
    """
    best, least = 0, np.inf
    for row in range(len(angles)):
        mean_square = 0.0
        for i in range(len(q)):
            difference = q[i] - angles[row, i]
            mean_square += weight[i] * difference * difference
        if mean_square < least:
            best, least = row, mean_square
    return best, least


# As plain integers: sums of enumeration members are slow.
_DEGENERATE = int(DEGENERATE_CONTACTS)
_CONTRADICTED = int(StiffnessFlag.POSTURE_CONTRADICTED)
_WIDENED = int(StiffnessFlag.CONTACTS_WIDENED)


class ContactForces(NamedTuple):
    """Selected contacts and their forces (650 and 660)."""

    contacts: IndexArray
    """(n_contacts,) indices into the robot's contact points."""
    forces: FloatArray
    """(n_contacts,) normal forces in N."""
    flags: int
    """`StiffnessFlag` bits."""


def choose_contacts(
    touching: BoolArray,
    listed: BoolArray,
    widen: Callable[[], BoolArray | None],
    solve: Callable[[BoolArray], ContactForces],
) -> ContactForces:
    """Return the contacts that balance the robot, with their forces.

    Args:
        touching: (n_points,) mask of candidates that touch, within the threshold.
        listed: (n_points,) mask of the posture's points; all without a posture.
        widen: returns `touching` for the wider distance; None if disabled.
        solve: step 660 for the allowed points.
    """
    first = solve(touching & listed)
    if not first.flags & _DEGENERATE or not touching.any():
        return first
    wider = widen()
    tries = [(touching, _CONTRADICTED)]
    if wider is not None:
        tries.insert(0, (wider & listed, _WIDENED))
        tries.append((wider, _WIDENED | _CONTRADICTED))
    n = len(first.contacts)
    for allowed, flag in tries:
        if np.count_nonzero(allowed) > n:
            answer = solve(allowed)
            if not answer.flags & _DEGENERATE:
                return answer._replace(flags=answer.flags | flag)
    if n == 0:
        answer = solve(touching)
        return answer._replace(flags=answer.flags | _CONTRADICTED)
    return first
