"""Behaviours as data: what each needs, and what it does when it lacks it.

A need is essential or not (RM-47): without an essential one a behaviour does not run,
without another it does, and adapts (RM-48). The document's other way is to cut it in
parts whose needs are all essential (RM-50): a part that lacks one does not run, the
whole always does; `runs_regardless` and `needs_all_parts` change these two defaults.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from controllers.resources.names import check_name, check_names
from controllers.resources.policies import ConflictPolicy, Lock
from controllers.resources.request import checked_rates
from models import BadInput
from models.real_numbers import short


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """Frames of a motion at a fixed rate [ES2535273T3, description of F1] (RM-66).

    It takes for granted that the motors are there at every frame; that they are is
    what the reservation is for. `timeline_player` plays it.
    """

    frames: int
    frames_per_second: float = 15.0
    angles: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Motor to its angle at each frame, in rad."""

    def __post_init__(self) -> None:
        """Refuse what is no timeline.

        Raises:
            BadInput: it has no frame, or no rate, or a motor has too few angles or too
                many.
        """
        if self.frames < 1 or not 0.0 < self.frames_per_second < float("inf"):
            raise BadInput(
                f"a timeline of {self.frames} frames at {self.frames_per_second} a "
                "second cannot be played; give 1 or more, at a positive rate."
            )
        for motor, angles in self.angles.items():
            if len(angles) != self.frames:
                raise BadInput(
                    f"{motor!r} has {len(angles)} angles in a timeline of "
                    f"{self.frames} frames; give one for each frame."
                )

    @property
    def length_s(self) -> float:
        """Time that it plays, in s."""
        return self.frames / self.frames_per_second

    def frame_at(self, elapsed_s: float) -> int | None:
        """Return the number of the frame at a time since the start; None at the end."""
        number = int(elapsed_s * self.frames_per_second + 1e-9)
        return number if 0 <= number < self.frames else None


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """What one behaviour needs, simple, state and cumulative alike (RM-58)."""

    name: str
    """Of its owner; no two have the same."""
    essential: tuple[str, ...] = ()
    """Leaves, composites and states without which it does not run."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Cumulative resource to rate in percent; essential."""
    optional: tuple[str, ...] = ()
    """What it takes if it is free at its start."""
    parts: tuple["Behaviour", ...] = ()
    """Sub-behaviours; what this one takes is open to them."""
    runs_regardless: bool = False
    """Whether it runs without its essential resources too, with those that it gets."""
    needs_all_parts: bool = False
    """Whether it runs only if all its parts do; then all that is essential to any of
    them is taken in one step."""
    timeout_s: float = 0.0
    """Longest wait at its start in s; 0 tries once."""
    timeline: Timeline | None = None
    policy: ConflictPolicy = field(default_factory=Lock)
    priority: int = 0

    def __post_init__(self) -> None:
        """Refuse what is no need or no part, and names that are there twice.

        Raises:
            BadInput: a name, a rate or a part is none, a choice neither true nor false,
                or two behaviours of the tree have one name.
        """
        object.__setattr__(self, "name", check_name(self.name, "a behaviour"))
        for what in ("essential", "optional"):
            object.__setattr__(self, what, check_names(getattr(self, what), what))
        object.__setattr__(self, "rates", checked_rates(self.rates))
        for what in ("runs_regardless", "needs_all_parts"):
            if type(getattr(self, what)) is not bool:
                raise BadInput(
                    f"{what} of behaviour {self.name!r} is "
                    f"{short(getattr(self, what))}; give true or false."
                )
        is_list = isinstance(self.parts, list | tuple)
        if not is_list or not all(isinstance(one, Behaviour) for one in self.parts):
            raise BadInput(
                f"parts of behaviour {self.name!r} are {short(self.parts)}; give a "
                "tuple of behaviours."
            )
        names = [one.name for one in self.walk()]
        for name in names:
            if names.count(name) > 1:
                raise BadInput(
                    f"behaviour {self.name!r} has {name!r} twice; give each part a "
                    "name of its own."
                )

    def walk(self) -> Iterator["Behaviour"]:
        """Yield this one and all its parts, from the top."""
        yield self
        for part in self.parts:
            yield from part.walk()


GREETING = Behaviour(
    name="Greeting",
    essential=("TTS", "Right arm"),
    optional=("Left leg", "Right leg"),
)
"""The document's example (RM-49): a word, a wave, and two steps if legs are free."""

GREETING_IN_PARTS = Behaviour(
    name="Greeting in parts",
    parts=(
        Behaviour(name="Say hello", essential=("TTS",)),
        Behaviour(name="Wave", essential=("Right arm",)),
        Behaviour(name="Two steps", essential=("Left leg", "Right leg")),
    ),
)
"""The same, cut in parts (RM-50)."""
