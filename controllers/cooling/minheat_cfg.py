"""Choices of the controller `minheat`."""

from dataclasses import dataclass, field

from controllers.cooling.set_point_shift import SetPointShiftCfg
from controllers.cooling.standing_problem import FRICTION
from controllers.cooling.stillness import StillnessCfg
from controllers.cooling.temperature_weights import TemperatureWeightsCfg
from controllers.stiffness import SmartStiffnessCfg
from models import BadInput


@dataclass(frozen=True, kw_only=True)
class MinHeatCfg:
    """Choices of the controller."""

    name: str = "minheat"
    """Name of the controller in tables and run folders."""
    period_s: float = 0.1
    """Time between two solutions, in s."""
    current_time_constant_s: float = 0.3
    """Low pass of the currents, in s."""
    calm_s: float = 0.5
    """Time without motion before the shift goes on, in s."""
    friction: float = FRICTION
    """Friction coefficient of the ground that is counted on."""
    least_on_feet: float = 0.7
    """Share of the weight that the force sensors must feel; with less the robot also
    rests on something else, or is held."""
    shift: SetPointShiftCfg = field(default_factory=SetPointShiftCfg)
    weights: TemperatureWeightsCfg = field(default_factory=TemperatureWeightsCfg)
    stillness: StillnessCfg = field(default_factory=StillnessCfg)
    limits: SmartStiffnessCfg = field(default_factory=SmartStiffnessCfg)
    """The safety net."""

    def __post_init__(self) -> None:
        """Refuse numbers without meaning."""
        for name in ("period_s", "current_time_constant_s", "friction"):
            value = getattr(self, name)
            if not 0.0 < value < float("inf"):
                raise BadInput(f"{name} = {value}; give a finite number above 0.")
        if not 0.0 <= self.calm_s < float("inf"):
            raise BadInput(f"calm_s = {self.calm_s} s; give 0 or more.")
        if not 0.0 <= self.least_on_feet <= 1.0:
            raise BadInput(f"least_on_feet = {self.least_on_feet}; give 0 to 1.")
