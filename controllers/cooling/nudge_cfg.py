"""Numbers of the controller `nudge`, those of teams that play with real robots."""

from dataclasses import dataclass, field
from math import radians

from controllers.cooling.stillness import StillnessCfg
from models import BadInput

_POSITIVE = (
    "period_s",
    "small_step_rad",
    "large_step_rad",
    "bound_rad",
    "current_time_constant_s",
    "return_s",
)


@dataclass(frozen=True, kw_only=True)
class NudgeCfg:
    """When a set-point is moved, by how much, and when it is left alone.

    Where nothing else is said, the value is that of `energySavingProvider.cfg` of
    [bhuman], release of 2025; the first to do it, [naoth], wait 1 s between steps of
    0.08° and leave joints below 0.3 A alone.
    """

    name: str = "nudge"
    """Name of the controller in tables and run folders."""
    period_s: float = 0.5
    """Time between two nudges, in s."""
    small_step_rad: float = radians(0.0286479)
    """Step where the servo's error is at most `large_step_rad`: 0.5 mrad, the smallest
    that the gears can make."""
    large_step_rad: float = 0.0035
    """Step where the error is larger."""
    bound_rad: float = radians(3.0)
    """Largest shift of a joint."""
    threshold_a: float = 0.1
    """A joint with less current is left alone, in A."""
    high_shift_rad: float = radians(1.5)
    """From this shift on `high_threshold_a` holds."""
    high_threshold_a: float = 0.3
    """A joint that has been moved far is left alone below this current, in A."""
    return_s: float = 3.0
    """Time in which a shift of `bound_rad` goes back to zero, in s."""
    current_time_constant_s: float = 0.2
    """Low pass of the currents, in s: a fraction of the period. Ours."""
    calm_s: float = 1.0
    """Time without motion before the first nudge, in s. Ours; theirs waits 0.1 s, but
    knows when a motion has ended."""
    stillness: StillnessCfg = field(default_factory=StillnessCfg)
    """From when on the robot moves, or is lifted."""

    def __post_init__(self) -> None:
        """Refuse numbers without meaning."""
        for name in _POSITIVE:
            value = getattr(self, name)
            if not 0.0 < value < float("inf"):
                raise BadInput(f"{name} = {value}; give a finite number above 0.")
        for name in ("threshold_a", "high_shift_rad", "calm_s"):
            value = getattr(self, name)
            if not 0.0 <= value < float("inf"):
                raise BadInput(f"{name} = {value}; give a finite number from 0 up.")
        if not self.threshold_a <= self.high_threshold_a:
            raise BadInput(
                f"threshold_a = {self.threshold_a} A and high_threshold_a = "
                f"{self.high_threshold_a} A; give threshold_a <= high_threshold_a."
            )
        if not self.small_step_rad <= self.large_step_rad <= self.bound_rad:
            raise BadInput(
                f"small_step_rad = {self.small_step_rad}, large_step_rad = "
                f"{self.large_step_rad}, bound_rad = {self.bound_rad}; give them in "
                "rising order."
            )
