"""What a command makes the units do: the motions, patterns and sounds themselves."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from models import BadInput
from models.library import PRESET, Library, LightPattern, Motion, Order, Sound, Unit


@dataclass(frozen=True, kw_only=True)
class OutputSet:
    """An entry of DB1 with its names looked up, or one made for the occasion.

    With points its outputs start in one instant, or not at all; without, each starts by
    itself.
    """

    name: str
    motion: Motion | None = None
    to: str | None = None
    """In the place of a motion: the posture to which transitions of DB2 lead from where
    the robot is."""
    light: LightPattern | None = None
    sound: Sound | None = None
    points: Mapping[Unit, int] = field(default_factory=dict)
    """Of each output, or empty."""
    preset: int = PRESET
    """Sum of points at which the group starts; less here if others join it."""

    def __post_init__(self) -> None:
        """Refuse a set that could never start.

        Raises:
            BadInput: it has no output, or two for the motors, or points of other units
                than its outputs, or more of them than the preset.
        """
        if not self.units:
            raise BadInput(
                f"command {self.name!r} does nothing; give a motion or posture, light "
                "or sound."
            )
        if self.motion is not None and self.to is not None:
            raise BadInput(
                f"command {self.name!r} has motion {self.motion.name!r} and goes to "
                f"{self.to}; give one of them."
            )
        if self.points and set(self.points) != set(self.units):
            raise BadInput(
                f"command {self.name!r} has points of {', '.join(self.points)} and the "
                f"outputs {', '.join(self.units)}; give points to each output, or none."
            )
        if (total := sum(self.points.values())) > self.preset:
            raise BadInput(
                f"points of command {self.name!r} sum to {total}; accepted: up to its "
                f"preset, {self.preset}."
            )

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units that it uses, in their order on a bus."""
        contents = (self.motion or self.to, self.light, self.sound)
        return tuple(
            unit
            for unit, content in zip(Unit, contents, strict=True)
            if content is not None
        )

    @property
    def way_to(self) -> str | None:
        """Posture to which transitions lead, first or all the way; None: none."""
        return self.to if self.motion is None else self.motion.start

    @property
    def posture_after(self) -> str | None:
        """Posture in which its motion ends; None: in no stored one."""
        return self.to if self.motion is None else self.motion.end

    @property
    def is_synchronous(self) -> bool:
        """Whether its outputs start together."""
        return bool(self.points)


def look_up(order: Order, library: Library) -> OutputSet:
    """Return an entry of DB1 with what its names stand for.

    Raises:
        UnknownName: a name is not in the library.
    """
    names = order.outputs
    return OutputSet(
        name=order.name,
        motion=library.motion(names[Unit.MOTION]) if Unit.MOTION in names else None,
        to=order.to,
        light=library.light(names[Unit.LIGHT]) if Unit.LIGHT in names else None,
        sound=library.sound(names[Unit.SOUND]) if Unit.SOUND in names else None,
        points=order.points,
        preset=order.preset,
    )


def outputs_of(command: str | Order | OutputSet, library: Library) -> OutputSet:
    """Return what a command puts out.

    Args:
        command: name of an entry of DB1, an entry like it, or the outputs.
        library: the databases.

    Raises:
        UnknownName: there is no such command, or a name in it is not known.
    """
    if isinstance(command, OutputSet):
        return command
    order = library.order(command) if isinstance(command, str) else command
    return look_up(order, library)
