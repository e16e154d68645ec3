"""Blinks now and then: a light of its own, independent of all else (SY-15)."""

from dataclasses import dataclass

from controllers.schemas.info import SchemaInfo
from controllers.schemas.library.needs import leaves_under
from controllers.schemas.library.ranges import check_between
from controllers.schemas.library.times import is_due
from controllers.schemas.schema import ActuationSchema
from controllers.schemas.waking import Waking
from models import Robot


@dataclass(frozen=True, kw_only=True)
class BlinkParameters:
    """What is shown, and how often."""

    light: str = "blink"
    """Name of a light pattern of the library."""
    every_s: float = 4.0
    """Mean time from one to the next, in s: people blink 15 to 20 times a minute."""
    spread: float = 0.5
    """Largest share of that time by which it comes earlier or later; 0 is regular."""
    count: int = 0
    """How often before it finishes; 0 never."""

    def __post_init__(self) -> None:
        """Refuse numbers out of range.

        Raises:
            BadInput: one of them.
        """
        check_between("every_s", self.every_s, 0.1, 3600.0, "s")
        check_between("spread", self.spread, 0.0, 0.95)
        check_between("count", self.count, 0, 1_000_000)


class Blink(ActuationSchema[BlinkParameters]):
    """Shows a light pattern at irregular times, the same ones in each run of a seed."""

    info = SchemaInfo(
        name="blink",
        about="Shows a light pattern now and then.",
        period_s=0.05,
        parameters=BlinkParameters,
    )
    _count = 0

    @classmethod
    def needs_of(cls, parameters: BlinkParameters, robot: Robot) -> tuple[str, ...]:
        """Return the lights of the pattern."""
        return leaves_under(robot, robot.library.light(parameters.light).leds)

    @classmethod
    def check_waking(
        cls, waking: Waking, parameters: BlinkParameters, robot: Robot
    ) -> None:
        """Refuse a light pattern that there is not.

        Raises:
            UnknownName: the library has none of this name.
        """
        del waking
        robot.library.light(parameters.light)

    def start(self) -> None:
        """Blink soon."""
        self._draw()

    def iterate(self) -> None:
        """Blink if it is time."""
        if not is_due(self.time_s, self._next_s):
            return
        self.light(self.parameters.light)
        self._count += 1
        if 0 < self.parameters.count <= self._count:
            self._count = 0
            self.finish()
            return
        self._draw()

    def _draw(self) -> None:
        now = self.parameters
        spread = now.spread * (2.0 * self.random.random() - 1.0)
        self._next_s = self.time_s + now.every_s * (1.0 + spread)
