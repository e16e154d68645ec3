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

import numpy as np
from numpy.typing import NDArray

from models import BadInput, Robot

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
ContactCriterion = Literal["distance", "sensor", "both", "either", "sensor-first"]
SensorScope = Literal["effector", "point"]


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


def heights_above_lowest(positions: FloatArray, up: FloatArray) -> FloatArray:
    """Return how far each point is above the lowest one (710, 720).

    Args:
        positions: (n, 3) in the base frame, in m.
        up: (3,) unit normal of the virtual plane.

    Returns:
        (n,) in m, 0 for the lowest.
    """
    height = positions @ up
    return np.asarray(height - height.min())


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
        self._other_part: FloatArray = np.where(same, 0.0, np.inf)
        # (n, n_force_sensors): which sensors tell about each of those points.
        self._pressing: FloatArray = own.reshape(n, len(sensors)).astype(np.float64)
        if cfg.sensor_scope == "effector":
            self._pressing = same @ self._pressing
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
        on = self._read_sensors(fsr)  # (n,) of the points with a sensor
        height = heights_above_lowest(positions, up)
        if self._cfg.sensor_scope == "effector":
            own = height.take(self._sensed)
            lowest = (own + self._other_part).min(axis=1, initial=np.inf)
            on = on & (own <= lowest + self._cfg.part_reach_m)
        self._height, self._on = height, on
        return self._combine(self._threshold)

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
        touching = self._combine(self._cfg.widest_m)
        sole = (self._height[self._sensed] + self._other_link).min(
            axis=1, initial=np.inf
        )
        touching[self._beside] &= self._height[self._beside] < sole
        return touching

    def _combine(self, threshold: float) -> BoolArray:
        """Combine sensor states with distances under `threshold`."""
        on, criterion = self._on, self._cfg.criterion
        touching = np.less_equal(self._height, threshold)  # 730
        if criterion == "sensor":
            touching[:] = False
        if criterion == "both":
            touching[self._sensed] &= on
        elif criterion == "either":
            touching[self._sensed] |= on
        elif criterion != "distance":
            touching[self._sensed] = on
        return np.asarray(touching)

    def _read_sensors(self, fsr: FloatArray) -> BoolArray:
        """Return the on/off states, with hysteresis, of the points with a sensor."""
        needed = np.where(self._is_on, self._cfg.off_newton, self._cfg.on_newton)
        self._is_on = np.greater_equal(self._pressing @ fsr, needed)
        return self._is_on
