"""Reader of a scenario file: returns a plan for the runner, or all errors at once.

    scenario = load_scenario(Path("greeting.yaml"))
    scenario = load_scenario(SCENARIOS.find("sit_stand_hello"))  # a builtin one

Nothing is started before the whole file is valid. An invalid part is dropped and the
rest is checked, so that one error does not hide the others.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from nao_testbed.controllers.arbitration.faults.virtual_owners import (
    BROKEN_ARM,
    ENERGY_SAVING,
    HOT_ENGINE,
    ROBOT_MODEL,
)
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.transmitter.speech import make_voice
from nao_testbed.experiments.common.builtin_files import BuiltinFiles
from nao_testbed.experiments.common.form_parts import Notes
from nao_testbed.experiments.scenarios.reading.behaviour_checks import (
    check_activation,
    check_grants,
    check_owner_tree,
    check_ways,
    group_ids,
    joined_commands,
    spoken_texts,
)
from nao_testbed.experiments.scenarios.reading.behaviours import read_behaviours
from nao_testbed.experiments.scenarios.reading.contradictions import (
    check_actions,
    check_together,
    check_triggers,
)
from nao_testbed.experiments.scenarios.reading.scenario_file import (
    ScenarioFile,
    check_reservations,
    posture_of,
    read_ledger,
    read_robot,
    read_setting,
    read_transmitter,
)
from nao_testbed.experiments.scenarios.scenario import Behaviour, Scenario
from nao_testbed.experiments.scenarios.vocabulary.events import (
    BodyEvent,
    SayEvent,
    ScenarioEvent,
    StartEvent,
    event_names,
    read_event,
)
from nao_testbed.experiments.scenarios.vocabulary.judge import (
    Expectation,
    read_expectation,
)
from nao_testbed.experiments.scenarios.vocabulary.lookup import Lookup
from nao_testbed.experiments.scenarios.vocabulary.setup import DIRECTOR
from nao_testbed.experiments.shared_robot.behaviours import STIFFNESS_OWNER
from nao_testbed.models import Robot
from nao_testbed.models.files.csv_tables import read_text_of
from nao_testbed.models.files.yaml_forms import (
    FileErrors,
    Place,
    Problem,
    ReadFile,
    read_file,
)
from nao_testbed.models.files.yaml_tree import read_tree, yaml_line
from nao_testbed.models.load.library_files import (
    KnownNames,
    build_library,
    library_problems,
)
from nao_testbed.models.load.library_forms import LibraryForm

FormT = TypeVar("FormT", bound=BaseModel)


def entry_of(place: Place) -> Place:
    """Return the part to drop for an invalid value: an entry of a section, or a child.

    The rest is checked, so that one error does not hide the others.
    """
    n = 2
    while place[:1] == ("behaviours",) and place[n : n + 1] == ("children",):
        if len(place) < n + 2:
            break
        n += 2
    return place[:n]


def names_left_out(file: ReadFile[FormT]) -> Iterator[str]:
    """Yield names of behaviours and events that were dropped as invalid."""
    if not file.left_out:
        return
    tree = read_tree(file.path)
    for place in file.left_out:
        part = tree
        for key in place:
            try:
                part = part[key]
            except (KeyError, IndexError, TypeError):
                part = None
        yield from _names_in(part)


def _names_in(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("name"), str):
            yield str(part["name"])
        for value in part.values():
            yield from _names_in(value)
    elif isinstance(part, list):
        for value in part:
            yield from _names_in(value)


SCENARIOS = BuiltinFiles(
    kind="scenario", folder=Path(__file__).resolve().parents[1] / "builtin"
)


def scenario_about(name: str) -> str:
    """Return the description of a built-in scenario.

    Raises:
        UnknownName: there is no built-in scenario with this name.
        FileErrors: its file is invalid.
    """
    return read_file(SCENARIOS.named(name), ScenarioFile).refuse().about


OTHER_OWNERS = frozenset(
    {ROBOT_MODEL, HOT_ENGINE, BROKEN_ARM, ENERGY_SAVING, DIRECTOR, STIFFNESS_OWNER}
)
"""Owners that are not behaviours of a file: virtual owners (hot, broken, absent, energy
saving), the scenario itself, the stiffness controller."""
_SECTIONS = tuple(LibraryForm.model_fields)


def load_scenario(path: Path) -> Scenario:
    """Return the scenario of a file, with resolved names and times in slots.

    Raises:
        FileErrors: all errors of the file, one per line, with `file:line`.
    """
    file = read_file(path, ScenarioFile, entry_of)
    if file.value is None:
        raise FileErrors(file.errors())
    notes = Notes()
    robot = read_robot(file.value, path, notes)
    if robot is None:
        raise FileErrors(file.errors(notes.problems))
    scenario = _Loader(file, file.value, robot, notes).read()
    file.refuse(_without_repeats(file, notes.problems))
    return scenario


def _without_repeats(
    file: ReadFile[ScenarioFile], problems: list[Problem]
) -> Iterator[Problem]:
    """Remove duplicate reports of one line."""
    said = set()
    for problem in problems:
        line = yaml_line(file.tree, problem.place)
        if (line, problem.message) not in said:
            said.add((line, problem.message))
            yield problem


class _Loader:
    """Reader of a file whose invalid parts were dropped."""

    def __init__(
        self,
        file: ReadFile[ScenarioFile],
        form: ScenarioFile,
        robot: Robot,
        notes: Notes,
    ) -> None:
        self._file = file
        self._form = form
        self._robot = robot
        self._notes = notes
        self._ledger = read_ledger(form)
        tick_s = self._ledger.tick_s
        self._lookup = Lookup(
            robot=robot,
            tree=ResourceTree(robot.resources),
            tick_s=tick_s,
            duration_ticks=max(1, round(form.duration_s / tick_s)),
            notes=notes,
            line_of=self._line,
            doubtful=frozenset(names_left_out(file)),
            virtual=OTHER_OWNERS,
        )

    def read(self) -> Scenario:
        """Return the plan; it is valid only if no error was reported."""
        form, lookup, notes = self._form, self._lookup, self._notes
        lookup.ticks(("duration_s",), form.duration_s)
        check_reservations(form, lookup)
        posture = posture_of(form, self._robot)
        notes.attempt(("posture",), self._robot.posture, posture)
        lookup.controller(("controller",), form.controller)
        notes.attempt(("voice",), make_voice, form.voice)
        setting = read_setting(form, self._robot, notes)
        simulation = setting.simulation()
        lookup.obstacles = tuple(form.simulation.model_dump()["obstacles"])
        others = dict.fromkeys(self._robot.joint_names, simulation.other_start_degc)
        lookup.start_degc = {**others, **simulation.start_degc}
        self._add_library()
        library = self._robot.library
        behaviours = self._behaviours()
        if not self._file.left_out:
            check_ways(behaviours, posture, lookup)
        check_activation(behaviours, lookup)
        groups = (*form.commands, *group_ids(library, behaviours, lookup))
        lookup.groups = frozenset(groups)
        said = (event.say for event in form.events if isinstance(event, SayEvent))
        lookup.spoken = frozenset((*spoken_texts(library, behaviours, lookup), *said))
        lookup.events = event_names(form.events, lookup)
        events = self._events()
        expectations = self._expectations()
        if not self._file.left_out:
            check_grants(
                behaviours,
                expectations,
                self._ledger.preemption,
                lookup,
                changes_body=any(isinstance(e, BodyEvent) for e in events),
            )
        transmitter, commands, delays = read_transmitter(form.transmitter, lookup)
        return Scenario(
            name=form.name,
            about=form.about,
            path=self._file.path,
            text=read_text_of(self._file.path),
            robot=self._robot,
            body=form.body,
            posture=posture,
            duration_ticks=lookup.duration_ticks,
            seed=form.seed,
            controller=form.controller,
            voice=form.voice,
            simulation=simulation,
            ledger=self._ledger,
            transmitter=transmitter,
            commands=commands,
            delays=delays,
            library=library,
            behaviours=behaviours,
            events=events,
            expectations=expectations,
        )

    def _add_library(self) -> None:
        """Add the entries of the file to the robot's library, if they are valid."""
        own = self._robot.library
        known = KnownNames.of_library(own).with_left_out(self._file.left_out)
        joined = joined_commands(self._form)
        problems = library_problems(self._form, self._robot, known, joined)
        self._notes.problems += problems
        left_out = {place[0] for place in self._file.left_out}
        lookup = self._lookup
        lookup.is_library_right = not problems and not left_out & set(_SECTIONS)
        if lookup.is_library_right:
            more = own.with_more(build_library(self._form, self._robot))
            lookup.robot = self._robot = replace(self._robot, library=more)

    def _behaviours(self) -> tuple[Behaviour, ...]:
        started: dict[str, float] = {}
        for event in self._form.events:
            if isinstance(event, StartEvent):
                before = started.get(event.start, math.inf)
                started[event.start] = min(before, event.at_s or 0.0)
        if any(place[0] == "events" for place in self._file.left_out):
            started = {form.name: 0.0 for form in self._form.behaviours}  # earliest
        found = read_behaviours(self._form.behaviours, self._lookup, started)
        check_owner_tree(found, self._lookup)
        return found

    def _events(self) -> tuple[ScenarioEvent, ...]:
        tree, lookup = self._file.tree, self._lookup
        read = [
            read_event(form, ("events", i), lookup, tree["events"][i])
            for i, form in enumerate(self._form.events)
        ]
        if not self._file.left_out:
            check_actions(read, self._lookup)
            check_triggers(read, self._lookup)
        return tuple(event for event in read if event is not None)

    def _expectations(self) -> tuple[Expectation, ...]:
        found: list[tuple[Place, Expectation]] = []
        for i, form in enumerate(self._form.expect):
            place: Place = ("expect", i)
            tree = self._file.tree["expect"][i]
            item = read_expectation(form, place, self._lookup, tree)
            if item is not None:
                found.append((place, item))
        check_together(found, self._lookup.tree, self._notes)
        for place, item in found:
            item.check(place, item.slots, self._lookup)
        return tuple(item for _, item in found)

    def _line(self, place: Place) -> int:
        return yaml_line(self._file.tree, place) or 1
