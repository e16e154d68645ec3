"""What drives the joints: motors, and how they heat."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class OneNodeHeating:
    """C dT/dt = R i² - λ (T - Tₑ), i = τ / K, identified on the joint side."""

    torque_constant: float
    """K, joint torque over current, in N·m/A."""
    resistance: float
    """R in Ω, at the ambient temperature of the identification."""
    conductance: float
    """λ to the ambient, in W/K."""
    heat_capacity: float
    """C in J/K."""
    ambient_degc: float
    """Tₑ in °C."""


@dataclass(frozen=True, kw_only=True)
class TwoNodeHeating:
    """Winding in a housing in still air; P = k τm² at 25 °C on the motor shaft."""

    joule_constant: float
    """k = R / Kt² in W/(N·m)², on the motor shaft."""
    resistance_winding_housing: float
    """Thermal resistance winding to housing in K/W."""
    resistance_housing_ambient: float
    """Thermal resistance housing to ambient in K/W."""
    time_constant_winding: float
    """Winding heat capacity times its resistance to the housing, in s."""
    time_constant_housing: float
    """Housing heat capacity times its resistance to the ambient, in s."""
    max_winding_degc: float
    """Largest winding temperature in °C."""


@dataclass(frozen=True, kw_only=True)
class Motor:
    """One electric motor with its gear; drives one joint, or several coupled ones."""

    name: str
    """Name of its leading joint."""
    type: str
    """Maker's designation."""
    joints: tuple[str, ...]
    """The joints that it drives, leading joint first."""
    gear_ratio: float
    """Motor turns for one joint turn."""
    stall_torque: float
    """On the motor shaft at nominal voltage, in N·m."""
    no_load_speed: float
    """On the motor shaft at nominal voltage, in rad/s."""
    torque_constant: float
    """Kt on the motor shaft, in N·m/A."""
    terminal_resistance: float
    """R at 25 °C, in Ω."""
    rotor_inertia: float
    """J of the rotor, in kg·m²."""
    one_node: OneNodeHeating
    two_node: TwoNodeHeating

    @property
    def armature(self) -> float:
        """Rotor inertia reflected to the joint, J N², in kg·m²."""
        return self.rotor_inertia * self.gear_ratio**2
