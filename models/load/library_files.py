"""Reader of a robot's stored actions: the YAML files in its `library/`.

Each file may hold any of the sections `motions`, `lights`, `sounds`, `commands` and
`transitions`; an entry may name entries of other files.

    known = KnownNames.of_library(robot.library).with_left_out(file.left_out)
    problems = library_problems(file.value, robot, known)

`library_problems` checks entries against the robot and against each other; it is a pure
function of forms. It also checks a scenario's own entries, together with the robot's
library. `build_library` converts valid entries to data.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from nao_testbed.models.errors import RobotDataError, UnknownName
from nao_testbed.models.files.yaml_forms import (
    FileErrors,
    Place,
    Problem,
    ReadFile,
    read_file,
)
from nao_testbed.models.library import (
    Library,
    LightPattern,
    LightStep,
    Motion,
    Order,
    Sound,
    Transition,
    Unit,
)
from nao_testbed.models.load.library_forms import (
    CommandForm,
    LibraryForm,
    LightForm,
    MotionForm,
    SoundForm,
)
from nao_testbed.models.load.motions import false_end, read_tracks, speed_problems
from nao_testbed.models.resources import DeviceKind, ResourceNode
from nao_testbed.models.robot import Robot


def led_leaves(robot: Robot) -> dict[str, tuple[str, ...]]:
    """Return the leaves under each resource that holds LEDs only.

    Returns:
        Name of a leaf or composite to its leaves, in the order of the tree.
    """
    return {
        node.name: leaves
        for node in robot.resources.walk()
        if (leaves := _leaves(node))
    }


def _leaves(node: ResourceNode) -> tuple[str, ...]:
    """Return the leaves under a node; empty if any of them is not an LED."""
    leaves = [leaf for leaf in node.walk() if not leaf.children]
    kinds = {leaf.device.kind if leaf.device else None for leaf in leaves}
    return tuple(leaf.name for leaf in leaves) if kinds == {DeviceKind.LEDS} else ()


Ends = tuple[str | None, str | None]
"""Postures at start and end of a motion; None: any start, or no stored end."""


@dataclass(frozen=True, kw_only=True)
class KnownNames:
    """Names that entries may use besides the names of their own file."""

    motions: Mapping[str, Ends | None] = field(default_factory=dict)
    """Motion to its start and end postures; None: invalid motion with unknown ends."""
    lights: frozenset[str] = frozenset()
    sounds: frozenset[str] = frozenset()

    @classmethod
    def of_library(cls, library: Library) -> "KnownNames":
        """Return the names of a library."""
        return cls(
            motions={name: (m.start, m.end) for name, m in library.motions.items()},
            lights=frozenset(library.lights),
            sounds=frozenset(library.sounds),
        )

    def with_form(self, form: LibraryForm) -> "KnownNames":
        """Return these names and those of a file."""
        motions = {name: (m.start, m.end) for name, m in form.motions.items()}
        return KnownNames(
            motions={**self.motions, **motions},
            lights=self.lights | set(form.lights),
            sounds=self.sounds | set(form.sounds),
        )

    def with_left_out(self, places: Iterable[Place]) -> "KnownNames":
        """Return these names and those of invalid entries."""
        known = self
        for section, *rest in places:
            if rest and section == "motions":
                known = replace(known, motions={**known.motions, str(rest[0]): None})
            elif rest and section == "lights":
                known = replace(known, lights=known.lights | {str(rest[0])})
            elif rest and section == "sounds":
                known = replace(known, sounds=known.sounds | {str(rest[0])})
        return known


def library_problems(
    form: LibraryForm,
    robot: Robot,
    others: KnownNames,
    joined: Container[str] = frozenset(),
) -> list[Problem]:
    """Return all problems in the values of entries, with their places.

    Args:
        form: entries to check.
        robot: robot with the joints, postures and LEDs named in the entries.
        others: other names that the entries may use.
        joined: commands whose groups are completed by other commands: fewer points are
            valid there.
    """
    known = others.with_form(form)
    problems: list[Problem] = []
    for name in form.motions:
        problems += _motion_problems(form, name, robot)
    for name, light in form.lights.items():
        problems += _light_problems(light, robot, ("lights", name))
    for name, sound in form.sounds.items():
        problems += _sound_problems(sound, ("sounds", name))
    for name, command in form.commands.items():
        place = ("commands", name)
        if command.to is not None:
            problems += _unknown_posture(command.to, robot, (*place, "to"))
        problems += _command_problems(command, known, place, is_joined=name in joined)
    problems += _transition_problems(form, robot, known)
    return problems


def _motion_problems(form: LibraryForm, name: str, robot: Robot) -> Iterator[Problem]:
    motion, place = form.motions[name], ("motions", name)
    for key, posture in (("from", motion.start), ("to", motion.end)):
        if posture is not None:
            yield from _unknown_posture(posture, robot, (*place, key))
    tracks, problems = read_tracks(motion, robot, place)
    yield from problems
    for track in tracks:
        yield from speed_problems(track, motion, robot)
    if not motion.postures and not motion.angles_deg:
        yield Problem(
            place,
            f"motion {name!r} has no keyframes; give `angles_deg` or `postures`.",
        )
    moves = () if problems else [placed.track for placed in tracks]
    if moves and (why := false_end(robot, moves, motion.start, motion.end)):
        yield Problem((*place, "to"), f"{why}. Make it end there, or remove `to`.")
    length = max((t.track.times_s[-1] for t in tracks), default=0.0)
    before = 0.0
    for i, stop in enumerate(motion.stops_s):
        if stop <= before or (tracks and stop > length):
            yield Problem(
                (*place, "stops_s", i),
                f"stop at {stop:g} s; accepted: increasing times up to the end of the "
                f"motion at {length:g} s.",
            )
        before = stop


def _light_problems(light: LightForm, robot: Robot, place: Place) -> Iterator[Problem]:
    lamps = led_leaves(robot)
    first: dict[tuple[float, str], int] = {}
    for i, step in enumerate(light.steps):
        here = (*place, "steps", i)
        for j, name in enumerate(step.leds):
            if name not in lamps:
                where = f"the LEDs of {robot.name!r}"
                unknown = UnknownName("LED", name, lamps, where)
                yield Problem((*here, "leds", j), str(unknown))
            for leaf in lamps.get(name, ()):
                if first.setdefault((step.at_s, leaf), i) != i:
                    yield Problem(
                        (*here, "leds", j),
                        f"{leaf} has two colours at {step.at_s:g} s; remove one of "
                        "them.",
                    )
    end = max(step.at_s + step.fade_s for step in light.steps)
    if light.length_s is not None and light.length_s < end:
        yield Problem(
            (*place, "length_s"),
            f"length_s is {light.length_s:g} s, but its last fade ends at {end:g} s; "
            "give that or more, or remove it.",
        )


def _sound_problems(sound: SoundForm, place: Place) -> Iterator[Problem]:
    if (sound.text is None) == (sound.tone_hz is None):
        yield Problem(
            place, "a sound has either `text` or `tone_hz`; give one of them."
        )
    elif sound.text is not None and not any(x.isalnum() for x in sound.text):
        message = f"{sound.text!r} has nothing to speak; give letters or digits."
        yield Problem((*place, "text"), message)
    elif sound.tone_hz is not None and sound.length_s is None:
        yield Problem(place, "a tone needs `length_s`, its length in s.")
    elif sound.text is not None and sound.length_s is not None:
        yield Problem(
            (*place, "length_s"),
            "the length of speech follows from its text; remove `length_s`.",
        )


def _command_problems(
    command: CommandForm, known: KnownNames, place: Place, *, is_joined: bool
) -> Iterator[Problem]:
    outputs, units = command.outputs, command.units
    if not units:
        known_keys = ", ".join((*Unit, "to"))
        yield Problem(place, f"a command needs one of: {known_keys}.")
    if command.motion is not None and command.to is not None:
        yield Problem(
            (*place, "to"),
            f"motion {command.motion!r} and a posture, {command.to}; give one of them.",
        )
    for unit, names in (
        (Unit.MOTION, known.motions),
        (Unit.LIGHT, known.lights),
        (Unit.SOUND, known.sounds),
    ):
        if unit in outputs and outputs[unit] not in names:
            what = {Unit.LIGHT: "Light pattern"}.get(unit, unit.capitalize())
            unknown = UnknownName(what, outputs[unit], sorted(names), "the library")
            yield Problem((*place, unit), str(unknown))
    if command.points is None:
        return
    here = (*place, "points")
    if set(command.points) != set(units):
        yield Problem(
            here,
            f"points are of {', '.join(command.points) or 'nothing'}, the outputs are "
            f"{', '.join(units) or 'none'}; give points to each output.",
        )
    elif (total := sum(command.points.values())) != command.preset and not is_joined:
        yield Problem(
            here,
            f"points sum to {total}, the preset is {command.preset}; make them equal, "
            "or its group never starts. In a scenario, behaviours that give commands "
            "the same group may complete it.",
        )


def _transition_problems(
    form: LibraryForm, robot: Robot, known: KnownNames
) -> Iterator[Problem]:
    first: dict[tuple[str, str], int] = {}
    for i, way in enumerate(form.transitions):
        place = ("transitions", i)
        yield from _unknown_posture(way.start, robot, (*place, "from"))
        yield from _unknown_posture(way.end, robot, (*place, "to"))
        if way.start == way.end:
            yield Problem(place, f"a transition from {way.start} to itself; remove it.")
        if first.setdefault((way.start, way.end), i) != i:
            yield Problem(
                place, f"duplicate transition from {way.start} to {way.end}; keep one."
            )
        if way.motion not in known.motions:
            unknown = UnknownName("Motion", way.motion, known.motions, "the library")
            yield Problem((*place, "motion"), str(unknown))
        ends = known.motions.get(way.motion)
        if ends is not None and ends != (way.start, way.end):
            start, end = (posture or "unstated" for posture in ends)
            yield Problem(
                (*place, "motion"),
                f"motion {way.motion!r} leads from {start} to {end}, the transition "
                f"from {way.start} to {way.end}; make them equal.",
            )


def _unknown_posture(name: str, robot: Robot, place: Place) -> Iterator[Problem]:
    if name not in robot.postures:
        where = f"robot {robot.name!r}"
        unknown = UnknownName("Posture", name, robot.postures, where)
        yield Problem(place, str(unknown))


def build_library(form: LibraryForm, robot: Robot) -> Library:
    """Return the data of entries without problems (`library_problems`).

    Args:
        form: valid entries.
        robot: robot with the joints, postures and LEDs named in the entries.
    """
    return Library(
        orders={
            name: Order(
                name=name,
                outputs=command.outputs,
                to=command.to,
                points=command.points or {},
                preset=command.preset,
            )
            for name, command in form.commands.items()
        },
        transitions=tuple(
            Transition(start=way.start, end=way.end, motion=way.motion)
            for way in form.transitions
        ),
        motions={name: _motion(name, m, robot) for name, m in form.motions.items()},
        lights={name: _light(name, x, robot) for name, x in form.lights.items()},
        sounds={
            name: Sound(
                name=name,
                text=sound.text,
                tone_hz=sound.tone_hz,
                length_s=sound.length_s,
                volume=sound.volume,
            )
            for name, sound in form.sounds.items()
        },
    )


def _motion(name: str, form: MotionForm, robot: Robot) -> Motion:
    tracks, _ = read_tracks(form, robot, ())
    return Motion(
        name=name,
        tracks=tuple(placed.track for placed in tracks),
        interpolation=form.interpolation,
        start=form.start,
        end=form.end,
        stops_s=form.stops_s,
    )


def _light(name: str, form: LightForm, robot: Robot) -> LightPattern:
    lamps = led_leaves(robot)
    steps = [
        LightStep(
            at_s=step.at_s,
            leds=tuple(dict.fromkeys(x for led in step.leds for x in lamps[led])),
            colour=_colour(step.colour),
            fade_s=step.fade_s,
        )
        for step in sorted(form.steps, key=lambda step: step.at_s)
    ]
    end = max(step.at_s + step.fade_s for step in steps)
    return LightPattern(name=name, steps=tuple(steps), length_s=form.length_s or end)


def _colour(text: str) -> tuple[float, float, float]:
    """Return the colour of `#rrggbb` in [0, 1]."""
    red, green, blue = (int(text[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return red, green, blue


SECTIONS = ("motions", "lights", "sounds", "commands")


def has_library(folder: Path) -> bool:
    """Return True if a robot's folder has a library file."""
    return any((folder / "library").glob("*.yaml"))


def load_library(robot: Robot) -> Library:
    """Return the library of a robot's folder; empty without files.

    Args:
        robot: robot with this folder, these joints, postures and resources.

    Raises:
        FileErrors: all problems in the files, one line each.
    """
    folder = robot.folder / "library"
    errors: list[RobotDataError] = []
    files: list[tuple[ReadFile[LibraryForm], LibraryForm]] = []
    known = KnownNames()
    for path in sorted(folder.glob("*.yaml")):
        try:
            file = read_file(path, LibraryForm)
        except FileErrors as error:
            errors += error.errors
            continue
        form = file.value or LibraryForm()
        files.append((file, form))
        known = known.with_form(form).with_left_out(file.left_out)
    library = Library()
    homes: dict[tuple[str, ...], str] = {}
    for file, form in files:
        problems = [
            *library_problems(form, robot, known),
            *_duplicate_problems(form, file.path.name, homes),
        ]
        errors += file.errors(problems)
        if not errors:
            library = library.with_more(build_library(form, robot))
    if errors:
        raise FileErrors(errors)
    return library


def _duplicate_problems(
    form: LibraryForm, file: str, homes: dict[tuple[str, ...], str]
) -> list[Problem]:
    """Return entries that another file defines too; register those of this file."""
    problems = []
    for section in SECTIONS:
        for name in getattr(form, section):
            first = homes.setdefault((section, name), file)
            if first != file:
                message = f"{name!r} is also in {first}; keep one of them."
                problems.append(Problem((section, name), message))
    for i, way in enumerate(form.transitions):
        first = homes.setdefault(("transitions", way.start, way.end), file)
        if first != file:
            message = f"a transition from {way.start} to {way.end} is also in {first}."
            problems.append(Problem(("transitions", i), message))
    return problems
