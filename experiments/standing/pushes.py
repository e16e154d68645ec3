"""Pushes: short forces on a link of a robot that stands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from models import BadInput, Robot, UnknownName
from sim.robot import SimulatedRobot


@dataclass(frozen=True, kw_only=True)
class Push:
    """A constant force on the centre of mass of a link, for a while."""

    at_s: float = 6.0
    """When it begins, in s of simulated time."""
    duration_s: float = 0.2
    """In s."""
    force_n: tuple[float, float, float] = (5.0, 0.0, 0.0)
    """In N, in the world: x ahead of the robot at its start, y to its left, z up."""
    link: str | None = None
    """None: the robot's base, the torso of a NAO."""

    def __post_init__(self) -> None:
        """Refuse times and forces without meaning."""
        if not (np.isfinite(self.at_s) and self.at_s >= 0.0):
            raise BadInput(f"push at {self.at_s} s; give a time of 0 s or later.")
        if not (np.isfinite(self.duration_s) and self.duration_s > 0.0):
            raise BadInput(f"push for {self.duration_s} s; give a time above 0 s.")
        if len(self.force_n) != 3 or not np.isfinite(self.force_n).all():
            raise BadInput(
                f"push of {self.force_n} N; give three finite numbers, such as "
                "(5.0, 0.0, 0.0)."
            )

    @property
    def end_s(self) -> float:
        """When it has ended, in s."""
        return self.at_s + self.duration_s


def check_pushes(pushes: Sequence[Push], robot: Robot) -> None:
    """Look whether the pushed links are there.

    Raises:
        UnknownName: one is not.
    """
    names = [link.name for link in robot.links]
    for push in pushes:
        if push.link is not None and push.link not in names:
            raise UnknownName("Link", push.link, names, f"robot {robot.name!r}")


def check_in_time(pushes: Sequence[Push], duration_s: float) -> None:
    """Look whether every push ends while the robot still stands there.

    Args:
        pushes: that shall happen.
        duration_s: how long the robot stands, in s.

    Raises:
        BadInput: one ends later, and nobody would notice that it never came.
    """
    for push in pushes:
        if push.end_s > duration_s + 1e-9:
            raise BadInput(
                f"a push ends at {push.end_s:g} s, but the trial lasts "
                f"{duration_s:g} s; push earlier or let it stand longer."
            )


def pusher(
    pushes: Sequence[Push], robot: Robot
) -> Callable[[SimulatedRobot], None] | None:
    """Return what to call before every tick, None where nothing is pushed."""
    if not pushes:
        return None
    todo = [(p, p.link or robot.base_link, np.array(p.force_n)) for p in pushes]

    def disturb(sim: SimulatedRobot) -> None:
        time_s = sim.time_s
        for push, link, force in todo:
            if push.at_s - 1e-9 <= time_s < push.end_s - 1e-9:
                sim.push_com(link, force)

    return disturb
