"""Which candidate points touch the ground (step 650, fig. 7: 710, 720, 730).

Three things may tell, in any combination [ES2659053T3 ¶650, claim 5]:

- distance: heights above the virtual plane (710), the lowest point (720), and all
  within the robot's threshold of it (730);
- sensor: the force sensors, on or off, for the points that have one;
- both, either, or - the default - the sensor where there is one and the distance
  elsewhere. A lifted robot has a lowest point too: only a sensor can tell that it does
  not touch; and buttocks and elbows have no sensor.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numba
import numpy as np
from numpy.typing import NDArray

from models import BadInput, Robot

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.intp]
ContactCriterion = Literal["distance", "sensor", "both", "either", "sensor-first"]
SensorScope = Literal["effector", "point"]
# Kernels know the criteria by their place.
_CRITERIA: tuple[ContactCriterion, ...] = get_args(ContactCriterion)
_DISTANCE, _SENSOR, _BOTH, _EITHER = map(
    _CRITERIA.index, ("distance", "sensor", "both", "either")
)


@dataclass(frozen=True, kw_only=True)
class ContactCfg:
    """How contacts are told."""

    criterion: ContactCriterion = "sensor-first"
    """`distance`, `sensor` (points without a sensor never touch), `both` (and),
    `either` (or), or `sensor-first`: the sensor where there is one, else the
    distance."""
    sensor_scope: SensorScope = "effector"
    """A point is on when its body part is pressed (`effector`), or only when its own
    sensor is (`point`). Cheap force sensors under a stiff sole often show a corner
    unloaded that is on the ground."""
    part_reach_m: float = 0.03
    """With `effector`: how far above the lowest sensor of its part a point may be, in
    m. A sole that lies flat on a slope of 10° spans 18 mm; the toes of one that stands
    on its heel are farther up, and not on."""
    on_newton: float = 1.5
    """Force on a body part (or point) from which its sensor state is on, in N."""
    off_newton: float = 0.8
    """Force below which it is off again: 2 steps of the sensor [nao6-datasheet]."""
    threshold_m: float | None = None
    """Distance to the lowest point (730), in m; None for the robot's own."""
    widest_m: float = 0.03
    """Distance tried when the points within the threshold cannot balance the robot, in
    m; 0 for never. An error of 2° in the vertical lifts an elbow that is 0.4 m from the
    feet by 14 mm off the virtual plane."""

    def __post_init__(self) -> None:
        """Refuse words and numbers without meaning."""
        for name, value, accepted in (
            ("criterion", self.criterion, get_args(ContactCriterion)),
            ("sensor_scope", self.sensor_scope, get_args(SensorScope)),
        ):
            if value not in accepted:
                raise BadInput(f"{name} {value!r}; give one of {', '.join(accepted)}.")
        if not 0.0 <= self.off_newton <= self.on_newton:
            raise BadInput(
                f"off_newton = {self.off_newton} N and on_newton = {self.on_newton} N; "
                "give 0 <= off <= on."
            )
        if not self.part_reach_m >= 0.0:
            raise BadInput(f"part_reach_m = {self.part_reach_m} m; give 0 or more.")
        if not self.widest_m >= 0.0:
            raise BadInput(f"widest_m = {self.widest_m} m; give 0 or more.")
        if self.threshold_m is not None and not self.threshold_m >= 0.0:
            raise BadInput(f"threshold_m = {self.threshold_m} m; give 0 or more.")


@numba.njit(cache=True)
def heights_above_lowest(positions: FloatArray, up: FloatArray) -> FloatArray:
    """Return how far each point is above the lowest one (710, 720).

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
    """Tells the touching candidates of one robot; keeps the on/off sensor states."""

    def __init__(self, robot: Robot, cfg: ContactCfg) -> None:
        """Prepare the tables of `robot`."""
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
        # (n, n_force_sensors): which sensors tell about each of those points, and how
        # far above the lowest sensor of its part a point may be.
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
        """Forget the sensor states."""
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
        touching, self._height = _detect(
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
        """Return what `detect` would have with the wider distance; None for never.

        A point on a link with sensors counts only where it is lower than those: heel
        and toes of a foot that stands flat do not touch, but the toes of one that
        points down do.

        Returns:
            (n_points,) booleans, for the arguments of the last `detect`.
        """
        if self._cfg.widest_m <= self._threshold:
            return None
        touching = _combine(
            self._height, self._cfg.widest_m, self._sensed, self._on, self._criterion
        )
        sole = (self._height[self._sensed] + self._other_link).min(
            axis=1, initial=np.inf
        )
        touching[self._beside] &= self._height[self._beside] < sole
        return np.asarray(touching)


@numba.njit(cache=True)
def _detect(
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
    """Return which candidates touch, and their heights; write the states.

    `is_on` are the states of the sensors, kept for their hysteresis; `on` those of the
    points with a sensor, off also where a point is above its own part's reach.
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
    return _combine(height, threshold, sensed, on, criterion), height


@numba.njit(cache=True)
def _combine(
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
