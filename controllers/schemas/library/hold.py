"""Holds resources for a time, and does nothing with them."""

from dataclasses import dataclass

from controllers.schemas.info import SchemaInfo
from controllers.schemas.library.ranges import check_between
from controllers.schemas.schema import ActuationSchema
from controllers.schemas.waking import Waking
from models import BadInput, Robot


@dataclass(frozen=True, kw_only=True)
class HoldParameters:
    """For how long."""

    for_s: float = 0.0
    """Time for which it holds them, in s; 0: until it is put to sleep."""

    def __post_init__(self) -> None:
        """Refuse a time that is none.

        Raises:
            BadInput: it is negative or endless.
        """
        check_between("for_s", self.for_s, 0.0, 1e6, "s")


class Hold(ActuationSchema[HoldParameters]):
    """Takes what it is given as `needs`, waits, and gives it back.

    Where its resources are taken away, the time in which it did not have them does not
    count.
    """

    info = SchemaInfo(
        name="hold",
        about="Holds resources for a time, and moves nothing.",
        period_s=0.01,
        parameters=HoldParameters,
    )
    _left_ticks = 0
    _since = 0

    @classmethod
    def check_waking(
        cls, waking: Waking, parameters: HoldParameters, robot: Robot
    ) -> None:
        """Refuse to hold nothing.

        Raises:
            BadInput: it was given no resources.
        """
        del parameters, robot
        if not (waking.needs or waking.optional or waking.rates):
            raise BadInput(
                f"{waking.name!r} has nothing to hold; name its resources as `needs`."
            )

    def start(self) -> None:
        """Begin, or go on after a loss."""
        if not self._left_ticks:
            self._left_ticks = round(self.parameters.for_s / self.period_s)
        self._since = self.tick

    def iterate(self) -> None:
        """Finish when the time is over."""
        if self.parameters.for_s and self.tick - self._since >= self._left_ticks:
            self._left_ticks = 0
            self.finish()

    def on_lost(self) -> None:
        """Note how much is left."""
        self._left_ticks = max(1, self._left_ticks - (self.tick - self._since))

    def stop(self) -> None:
        """Begin anew the next time."""
        self._left_ticks = 0
