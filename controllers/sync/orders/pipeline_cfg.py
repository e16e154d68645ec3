"""Settings of the pipeline before the transmitter."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controllers.sync.orders.delays import CONVERSION_S
from models import BadInput
from models.library import Unit


class Enable(StrEnum):
    """When the transmitter enables the synchronous data (SY-22)."""

    EXPECTED = "expected"
    """When what is left of the initial motion takes as long as the data are expected to
    take: they are there when it ends, and no earlier."""
    AT_END = "at_end"
    """When the initial motion is over: the delay is dead time."""
    EARLY = "early"
    """Some time before `EXPECTED`: the data wait in the transmitter's memory."""


@dataclass(frozen=True, kw_only=True)
class CommandControllerCfg:
    """Settings of the command controller and the converters."""

    enable: Enable = Enable.EXPECTED
    """When synchronous commands are issued at the end of an initial motion."""
    early_s: float = 0.5
    """How much earlier than expected with `Enable.EARLY`, in s."""
    command_s: float = 0.01
    """Time from a command, or a signal, to the output commands, in s: one slot."""
    conversion_s: Mapping[Unit, float] = field(default_factory=lambda: CONVERSION_S)
    """Expected time of each converter in s, known beforehand."""

    def __post_init__(self) -> None:
        """Refuse times that are none.

        Raises:
            BadInput: a time is negative or not finite, or a unit has none.
        """
        if missing := set(Unit) - set(self.conversion_s):
            raise BadInput(
                f"conversion_s lacks {', '.join(sorted(missing))}; give a time in s "
                "for each unit."
            )
        times = {"early_s": self.early_s, "command_s": self.command_s}
        times |= {f"conversion_s of {u}": t for u, t in self.conversion_s.items()}
        for name, time_s in times.items():
            if not 0.0 <= time_s < float("inf"):
                raise BadInput(f"{name} is {time_s} s; give 0 or a positive time.")
