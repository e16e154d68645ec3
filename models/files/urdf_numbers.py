"""Checks of the numbers in a URDF: present, finite, in range.

Engines and Pinocchio each read the file separately. On an unreadable number they raise
an error, assume 0, or silently drop a mass or a shape.
"""

from dataclasses import dataclass
from math import inf

from nao_testbed.models.files.xml_tree import Element


@dataclass(frozen=True, slots=True)
class _Range:
    """Accepted values of one attribute."""

    least: float = -inf
    most: float = inf
    count: int = 1
    is_needed: bool = False


_FAR_M = 100.0
"""Largest distance from a link's frame to any of its parts, in m."""
_PLACE = _Range(-_FAR_M, _FAR_M, 3)
_ANGLES = _Range(-1e3, 1e3, 3)
_NOT_NEGATIVE = _Range(0.0)
_NEEDED = _Range(0.0, is_needed=True)
_EXTENT = _Range(0.0, _FAR_M)
_MOMENT = _Range(0.0, 1e6)
_PRODUCT = _Range(-1e6, 1e6)

_RANGES: dict[str, dict[str, _Range]] = {
    "origin": {"xyz": _PLACE, "rpy": _ANGLES},
    "axis": {"xyz": _Range(-2.0, 2.0, 3, is_needed=True)},
    "limit": {"effort": _NEEDED, "velocity": _NEEDED},
    "dynamics": {"damping": _NOT_NEGATIVE, "friction": _NOT_NEGATIVE},
    "safety_controller": {
        "k_velocity": _Range(is_needed=True),
        "k_position": _Range(),
        "soft_lower_limit": _Range(),
        "soft_upper_limit": _Range(),
    },
    "calibration": {"rising": _Range(), "falling": _Range()},
    "mass": {"value": _Range(0.0, 1e4)},
    "inertia": {
        **dict.fromkeys(("ixx", "iyy", "izz"), _MOMENT),
        **dict.fromkeys(("ixy", "ixz", "iyz"), _PRODUCT),
    },
    "box": {"size": _Range(0.0, _FAR_M, 3)},
    "sphere": {"radius": _EXTENT},
    "cylinder": {"radius": _EXTENT, "length": _EXTENT},
    "capsule": {"radius": _EXTENT, "length": _EXTENT},
    "mesh": {"scale": _Range(-1e4, 1e4, 3)},
    "color": {"rgba": _Range(count=4, is_needed=True)},
}
"""Tag and attribute to its accepted values; in m, rad, N·m, rad/s, kg, kg·m²."""


def check_numbers(part: Element) -> None:
    """Reject numbers in a link, joint or material that cannot be used.

    Raises:
        RobotDataError: a number is missing, unreadable or out of range; with its line.
    """
    for element in part.all_below():
        for attribute, accepted in _RANGES.get(element.tag, {}).items():
            if accepted.is_needed or attribute in element.attributes:
                _check(element, attribute, accepted, part.title)


def _check(element: Element, attribute: str, accepted: _Range, owner: str) -> None:
    for value in element.numbers(attribute, accepted.count):
        if not accepted.least <= value <= accepted.most:
            most = f" to {accepted.most:g}" if accepted.most < inf else ""
            element.fail(
                f"{attribute} of {element.tag} of {owner} is "
                f"{element.attributes[attribute]!r}; give numbers from "
                f"{accepted.least:g}{most}."
            )
