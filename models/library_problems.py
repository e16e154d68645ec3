"""What the entries of a library say wrongly about the robot and about each other.

    known = KnownNames.of_library(robot.library).with_left_out(file.left_out)
    problems = library_problems(file.value, robot, known)

A pure function of forms: nothing is read or built. A scenario's own entries are checked
in the same way, beside those of the robot's library.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from models.errors import UnknownName
from models.led_leaves import led_leaves
from models.library.command import Unit
from models.library.library import Library
from models.library_yaml import (
    CommandForm,
    LibraryForm,
    LightForm,
    SoundForm,
)
from models.motion_ends import false_end
from models.motion_tracks import read_tracks, speed_problems
from models.robot import Robot
from models.yaml_lines import Place, Problem

Ends = tuple[str | None, str | None]
"""Postures in which a motion begins and ends; None: any, or none that is stored."""


@dataclass(frozen=True, kw_only=True)
class KnownNames:
    """What entries may name beside those of their own file."""

    motions: Mapping[str, Ends | None] = field(default_factory=dict)
    """None: it is there, but it is wrong itself, so that its ends are not known."""
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
        """Return these names and those of entries that were left out as wrong."""
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
    """Return all that is wrong in the values of some entries, with their places.

    Args:
        form: the entries.
        robot: whose joints, postures and LEDs they name.
        others: what they may name beside themselves.
        joined: commands whose groups others complete: fewer points are right there.
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
        yield Problem((*place, "to"), f"{why}. Bring it there, or leave `to` out.")
    length = max((t.track.times_s[-1] for t in tracks), default=0.0)
    before = 0.0
    for i, stop in enumerate(motion.stops_s):
        if stop <= before or (tracks and stop > length):
            yield Problem(
                (*place, "stops_s", i),
                f"stop at {stop:g} s; accepted: times that rise, up to the end of the "
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
                        f"{leaf} gets two colours at {step.at_s:g} s; leave out the "
                        "one or the other.",
                    )
    end = max(step.at_s + step.fade_s for step in light.steps)
    if light.length_s is not None and light.length_s < end:
        yield Problem(
            (*place, "length_s"),
            f"length_s is {light.length_s:g} s, but its last fade ends at {end:g} s; "
            "give that or more, or leave it out.",
        )


def _sound_problems(sound: SoundForm, place: Place) -> Iterator[Problem]:
    if (sound.text is None) == (sound.tone_hz is None):
        yield Problem(
            place, "a sound has either `text` or `tone_hz`; give one of them."
        )
    elif sound.text is not None and not any(x.isalnum() for x in sound.text):
        message = f"there is nothing to say in {sound.text!r}; give letters or digits."
        yield Problem((*place, "text"), message)
    elif sound.tone_hz is not None and sound.length_s is None:
        yield Problem(place, "a tone needs `length_s`, its length in s.")
    elif sound.text is not None and sound.length_s is not None:
        yield Problem(
            (*place, "length_s"),
            "a text takes as long as saying it does; leave `length_s` out.",
        )


def _command_problems(
    command: CommandForm, known: KnownNames, place: Place, *, is_joined: bool
) -> Iterator[Problem]:
    outputs, units = command.outputs, command.units
    if not units:
        known_keys = ", ".join((*Unit, "to"))
        yield Problem(place, f"a command does something; give one of: {known_keys}.")
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
            yield Problem(place, f"a way from {way.start} to itself; remove it.")
        if first.setdefault((way.start, way.end), i) != i:
            yield Problem(
                place, f"a second way from {way.start} to {way.end}; keep one of them."
            )
        if way.motion not in known.motions:
            unknown = UnknownName("Motion", way.motion, known.motions, "the library")
            yield Problem((*place, "motion"), str(unknown))
        ends = known.motions.get(way.motion)
        if ends is not None and ends != (way.start, way.end):
            start, end = (posture or "unstated" for posture in ends)
            yield Problem(
                (*place, "motion"),
                f"motion {way.motion!r} leads from {start} to {end}, this way from "
                f"{way.start} to {way.end}; make them equal.",
            )


def _unknown_posture(name: str, robot: Robot, place: Place) -> Iterator[Problem]:
    if name not in robot.postures:
        where = f"robot {robot.name!r}"
        unknown = UnknownName("Posture", name, robot.postures, where)
        yield Problem(place, str(unknown))
