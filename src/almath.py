"""Poses, positions, transforms and angles, under the names of NAOqi's `almath`.

Programs for a NAO import `almath`, which can only be installed on older Pythons. This
module has the part that public programs use [libalmath]: types of plain numbers in m
and rad, their arithmetic, and conversions between them. A rotation is

    R = Rz(wz) Ry(wy) Rx(wx).
"""

from collections.abc import Callable
from math import asin, atan2, copysign, cos, fmod, hypot, pi, sin, sqrt
from typing import Any, ClassVar, Self

import numpy as np

PI, PI_2, PI_4, _2_PI_ = pi, pi / 2, pi / 4, 2 * pi
TO_RAD, TO_DEG = pi / 180, 180 / pi
AXIS_MASK_X, AXIS_MASK_Y, AXIS_MASK_XY, AXIS_MASK_Z, AXIS_MASK_VEL = 1, 2, 3, 4, 7
AXIS_MASK_WX, AXIS_MASK_WY, AXIS_MASK_WZ, AXIS_MASK_WYWZ = 8, 16, 32, 48
AXIS_MASK_ROT, AXIS_MASK_ALL, AXIS_MASK_NONE, AXIS_MASK_PLANEZ = 56, 63, 0, 28
PLACE = ("x", "y", "z", "r1_c4", "r2_c4", "r3_c4")
vectorFloat = vectorPosition2D = vectorPose2D = vectorPosition6D = list


def norm(one: Any) -> float:
    """Return the length of a vector; of a pose in the plane, that of its place."""
    return float(np.linalg.norm(one.toVector()[: one.N_LENGTH]))


def distance(one: Any, other: Any) -> float:
    """Return the distance of two places; angles do not count."""
    return float(np.linalg.norm(np.subtract(one.place(), other.place())))


class _Numbers:
    """Named numbers with the arithmetic of a vector."""

    NAMES: ClassVar[tuple[str, ...]]
    N_LENGTH = 6  # components that count in `norm`
    norm, distance = norm, distance

    def diff(self: Any, other: Any) -> Any:
        """Return another pose or transform, as seen from this one."""
        return self.inverse() * other

    def __init__(self, *values: Any) -> None:
        """Take all numbers, a list of them, one for all, or none: zeros."""
        given = values[0] if len(values) == 1 else values or 0.0
        given = given.toVector() if isinstance(given, _Numbers) else given
        n = len(self.NAMES)
        numbers = np.ravel([given] * n if np.ndim(given) == 0 else given).tolist()
        if len(numbers) != n:
            raise ValueError(
                f"{type(self).__name__} takes {n} numbers ({', '.join(self.NAMES)}), "
                f"not {len(numbers)}."
            )
        for name, value in zip(self.NAMES, numbers, strict=True):
            setattr(self, name, float(value))

    def __getattr__(self, name: str) -> float:  # numbers are set by `__init__`
        raise AttributeError(f"{type(self).__name__} has no {name}")

    def toVector(self) -> list[float]:
        """Return all numbers."""
        return [getattr(self, name) for name in self.NAMES]

    def place(self) -> list[float]:
        """Return x, y, z, as far as there are such numbers."""
        return [vars(self)[name] for name in self.NAMES if name in PLACE]

    def isNear(self, other: Any, epsilon: float = 1e-4) -> bool:
        """Return True if no difference exceeds `epsilon`."""
        apart = np.abs(np.subtract(self.toVector(), other.toVector()))
        return bool(apart.max() <= epsilon)

    def __repr__(self) -> str:
        said = (f"{name}={getattr(self, name):g}" for name in self.NAMES)
        return f"{type(self).__name__}({', '.join(said)})"

    def __add__(self, other: Any) -> Self:
        return type(self)(np.add(self.toVector(), other.toVector()))

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __mul__(self, factor: Any) -> Any:
        return type(self)(np.multiply(self.toVector(), factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Any:
        return self * (1.0 / divisor)

    def __neg__(self) -> Any:
        return self * -1.0


class Position2D(_Numbers):
    """Point of a plane."""

    NAMES = ("x", "y")


class Position3D(_Numbers):
    """Point in space."""

    NAMES = ("x", "y", "z")


class Rotation3D(_Numbers):
    """Angles about the axes."""

    NAMES = ("wx", "wy", "wz")


class Position6D(_Numbers):
    """Place and angles."""

    NAMES = (*Position3D.NAMES, *Rotation3D.NAMES)


class Pose2D(_Numbers):
    """Place and direction in a plane; a product joins two poses."""

    NAMES, N_LENGTH = ("x", "y", "theta"), 2
    x: float
    y: float
    theta: float

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Pose2D | Position2D):
            return super().__mul__(other)
        c, s = cos(self.theta), sin(self.theta)
        x, y = self.x + c * other.x - s * other.y, self.y + s * other.x + c * other.y
        if isinstance(other, Position2D):
            return Position2D(x, y)
        return Pose2D(x, y, self.theta + other.theta)

    def inverse(self) -> Any:
        """Return the pose of the origin, as seen from this pose."""
        return Pose2D(0, 0, -self.theta) * Pose2D(-self.x, -self.y, 0)


class _Matrix(_Numbers):
    """Three rows of numbers, by default of the identity; a product joins two."""

    SHAPE: ClassVar[tuple[int, int]]

    def __init__(self, *values: Any) -> None:
        super().__init__(np.ravel(*values)[:12] if values else np.eye(*self.SHAPE))

    def rows(self) -> Any:
        """Return an array (3, 3), of a transform (4, 4)."""
        rows = np.eye(max(self.SHAPE))
        rows[:3] = np.reshape([getattr(self, name) for name in self.NAMES], self.SHAPE)
        return rows

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Position3D):
            place = [*other.toVector(), 1.0][: max(self.SHAPE)]
            return Position3D((self.rows() @ place)[:3])
        if isinstance(other, _Matrix):
            return type(self)((self.rows() @ other.rows())[:3])
        return super().__mul__(other)

    def inverse(self) -> Self:
        """Return the inverse."""
        return type(self)(np.linalg.inv(self.rows())[:3])

    @classmethod
    def from3DRotation(cls, wx: float, wy: float, wz: float) -> Self:
        """Return the rotation by three angles."""
        (sx, sy, sz), (cx, cy, cz) = np.sin([wx, wy, wz]), np.cos([wx, wy, wz])
        rows = np.eye(*cls.SHAPE)
        rows[0, :3] = cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx
        rows[1, :3] = sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx
        rows[2, :3] = -sy, cy * sx, cy * cx
        return cls(rows)

    fromRotX = classmethod(lambda cls, angle: cls.from3DRotation(angle, 0, 0))
    fromRotY = classmethod(lambda cls, angle: cls.from3DRotation(0, angle, 0))
    fromRotZ = classmethod(lambda cls, angle: cls.from3DRotation(0, 0, angle))


class Rotation(_Matrix):
    """Rotation matrix, row by row."""

    SHAPE, NAMES = (3, 3), tuple(f"r{i}_c{k}" for i in "123" for k in "123")


class Transform(_Matrix):
    """Rotation and place as a matrix (4, 4), row by row; the last row is constant."""

    SHAPE, NAMES = (3, 4), tuple(f"r{i}_c{k}" for i in "123" for k in "1234")

    def __init__(self, *values: Any) -> None:
        """Take 12 or 16 numbers, or x, y, z, or none: the identity."""
        is_place = len(values) == 3
        super().__init__(*([np.c_[np.eye(3), values]] if is_place else values))

    def toVector(self) -> list[float]:
        """Return all 16 numbers."""
        return list(map(float, np.ravel(self.rows())))

    @staticmethod
    def fromPosition(x: float, y: float, z: float, *angles: float) -> "Transform":
        """Return the transform of a place, with wx, wy, wz or without."""
        turn = Transform.from3DRotation(*(angles or (0, 0, 0)))
        return Transform(np.c_[turn.rows()[:3, :3], [x, y, z]])


def _transform_of(one: Any) -> Transform:
    """Return any place, pose or rotation as a transform."""
    if isinstance(one, Pose2D):
        return Transform.fromPosition(one.x, one.y, 0, 0, 0, one.theta)
    if isinstance(one, Rotation):
        return Transform(np.c_[one.rows(), np.zeros(3)])
    if isinstance(one, Transform):
        return one
    return Transform.fromPosition(*(vars(one).get(x, 0.0) for x in Position6D.NAMES))


def position6DFromTransform(one: Any) -> Position6D:
    """Return place and angles of a transform, a pose or a position."""
    r = _transform_of(one)
    angles = atan2(r.r3_c2, r.r3_c3), atan2(-r.r3_c1, hypot(r.r1_c1, r.r2_c1))
    return Position6D(*r.place(), *angles, atan2(r.r2_c1, r.r1_c1))


def _part(kind: Callable[..., Any], *names: str) -> Callable[..., Any]:
    def numbers(one: Any) -> Any:
        return kind([vars(position6DFromTransform(one))[name] for name in names])

    return numbers


transformFromPosition3D = transformFromPosition6D = transformFromPose2D = _transform_of
transformFromRotation = transformFromRotation3D = _transform_of
position6DFromPose2D = position6DFromPosition3D = position6DFromTransform
position3DFromTransform = position3DFromPosition6D = _part(Position3D, "x", "y", "z")
position2DFromPose2D = _part(Position2D, "x", "y")
pose2DFromTransform = pose2DFromPosition6D = _part(Pose2D, "x", "y", "wz")
pose2DFromPosition2D = pose2DFromTransform
rotation3DFromTransform = rotation3DFromRotation = _part(Rotation3D, "wx", "wy", "wz")
transformFromPosition, transformInverse = Transform.fromPosition, Transform.inverse
transformFrom3DRotation = Transform.from3DRotation
transformFromRotX, transformFromRotY = Transform.fromRotX, Transform.fromRotY
transformFromRotZ, rotationFrom3DRotation = Transform.fromRotZ, Rotation.from3DRotation
rotationFromRotX, rotationFromRotY = Rotation.fromRotX, Rotation.fromRotY
rotationFromRotZ, transformDistance = Rotation.fromRotZ, distance
transformDiff = pose2dDiff = _Numbers.diff
pose2DInverse = pinv = Pose2D.inverse


def rotationFromTransform(one: Transform) -> Rotation:
    """Return the rotation of a transform."""
    return Rotation(one.rows()[:3, :3])


def modulo2PI(angle: float) -> float:
    """Return an angle within -PI to PI."""
    rest = fmod(angle, _2_PI_)
    return rest if abs(rest) <= PI else rest - copysign(_2_PI_, rest)


def clipData(low: float, high: float, data: Any) -> bool:
    """Clip a list, or a list of lists, in place; return True if a number was out."""
    before = np.asarray(data, dtype=float)
    if isinstance(data, list):
        data[:] = np.clip(before, low, high).tolist()
    return bool(((before < low) | (before > high)).any())


def getDubinsSolutions(pose: Pose2D, radius: float) -> list[Pose2D]:
    """Return the ends of a path to a pose: of its first arc, its line and its last arc.

    Of the lines between the circles to the left and right of both poses it has the
    shortest one. Angles of poses are absolute.

    Raises:
        ValueError: the pose is nearer than four radii.
    """
    if norm(pose) < 4 * radius:
        raise ValueError(f"the pose is at {norm(pose):g} m, nearer than four radii.")
    found = []
    for first, last in ((1, 1), (-1, -1), (1, -1), (-1, 1)):  # 1: circle on the left
        x = pose.x - last * radius * sin(pose.theta)
        y = pose.y + last * radius * cos(pose.theta) - first * radius
        apart = (first - last) * radius / hypot(x, y)
        if abs(apart) > 1:
            continue  # circles that overlap have no crossed tangent
        line = atan2(y, x) + asin(apart)
        step = radius * sin(line), -radius * cos(line)  # from the left circle
        line = modulo2PI(line)
        begin = Pose2D(first * step[0], first * (step[1] + radius), line)
        y += first * radius
        end = Pose2D(x + last * step[0], y + last * step[1], line)
        found.append((distance(begin, end), begin, end))
    _, begin, end = min(found, key=lambda one: one[0])
    return [begin, end, Pose2D(pose)]


def clipFootWithEllipse(max_x: float, max_y: float, move: Pose2D) -> bool:
    """Shorten a step, in place, to an ellipse; return True if it was longer."""
    square = (move.x / max_x) ** 2 + (move.y / max_y) ** 2
    if square < 1.00001:
        return False
    move.x, move.y = move.x / sqrt(square), move.y / sqrt(square)
    return True


def avoidFootCollision(
    left: list[Position2D], right: list[Position2D], is_left_support: bool, move: Pose2D
) -> bool:
    """Turn a step less, in place, so that the feet do not touch.

    Five bisections find the angle; it is 0 if the feet touch at every smaller one.

    Args:
        left: corners of the left sole, in turn.
        right: corners of the right sole.
        is_left_support: True if the right foot moves.
        move: pose of the moving foot, as seen from the other.

    Returns:
        True if the feet would have touched.
    """
    fixed, moving = (left, right) if is_left_support else (right, left)
    if not _touch(fixed, [move * corner for corner in moving]):
        return False
    low, high = 0.0, move.theta
    for _ in range(5):
        move.theta = (low + high) / 2
        if _touch(fixed, [move * corner for corner in moving]):
            high = move.theta
        else:
            low = move.theta
    move.theta = low
    return True


def _touch(one: list[Position2D], other: list[Position2D]) -> bool:
    """Return True unless a line along a side separates two convex shapes."""
    a, b = (np.array([corner.toVector() for corner in box]) for box in (one, other))
    for sides in (np.roll(a, 1, axis=0) - a, np.roll(b, 1, axis=0) - b):
        across = np.column_stack([sides[:, 1], -sides[:, 0]])
        p, q = a @ across.T, b @ across.T
        if ((p.max(0) < q.min(0)) | (q.max(0) < p.min(0))).any():
            return False
    return True
