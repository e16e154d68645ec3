"""Read a scenario file: all that is wrong in it at once, or a plan for its runner.

    scenario = load_scenario(Path("greeting.yaml"))

Nothing is started before all of the file is right.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from controllers.resources.body.degraded_modes import ENERGY_SAVING
from controllers.resources.body.virtual_owner import (
    BROKEN_ARM,
    HOT_ENGINE,
    ROBOT_MODEL,
)
from controllers.resources.resource_tree import ResourceTree
from controllers.voice import make_voice
from experiments.coupled.stiffness_owner import NAME as STIFFNESS_OWNER
from experiments.scenarios.form.events import SayEvent, StartEvent
from experiments.scenarios.form.scenario_file import ScenarioFile
from experiments.scenarios.plan.events import ChangeBody, ScenarioEvent
from experiments.scenarios.plan.expectations import Expectation
from experiments.scenarios.plan.scenario import DIRECTOR, Behaviour, Scenario
from experiments.scenarios.reading.contradictions import check_together
from experiments.scenarios.reading.group_ids import (
    group_ids,
    joined_commands,
    spoken_texts,
)
from experiments.scenarios.reading.names_in_file import entry_of, names_left_out
from experiments.scenarios.reading.notes import Notes
from experiments.scenarios.reading.owner_tree import check_owner_tree
from experiments.scenarios.reading.read_behaviours import read_behaviours
from experiments.scenarios.reading.read_events import event_names, read_event
from experiments.scenarios.reading.read_expectations import read_expectation
from experiments.scenarios.reading.read_settings import (
    check_reservations,
    read_controller,
    read_ledger,
    read_robot,
    read_simulation,
    read_transmitter,
)
from experiments.scenarios.reading.repairs import check_repairs
from experiments.scenarios.reading.scene import Scene
from experiments.scenarios.reading.too_early import check_times, check_triggers
from experiments.scenarios.reading.wakings import check_grants, check_wakings
from experiments.scenarios.reading.way_needs import check_ways
from models import Robot
from models.build_library import build_library
from models.library_problems import KnownNames, library_problems
from models.library_yaml import LibraryForm
from models.tables import read_text
from models.yaml_lines import FileErrors, Place, Problem, ReadFile, read_file
from models.yaml_tree import yaml_line

OTHER_OWNERS = frozenset(
    {ROBOT_MODEL, HOT_ENGINE, BROKEN_ARM, ENERGY_SAVING.name, DIRECTOR, STIFFNESS_OWNER}
)
"""Owners that are no behaviours of a file: what is hot, broken, absent or saved, the
scenario itself, the stiffness controller."""
_SECTIONS = tuple(LibraryForm.model_fields)


def load_scenario(path: Path) -> Scenario:
    """Return the scenario of a file, every name known and every time a slot.

    Raises:
        FileErrors: all that is wrong in the file, a line each, with `file:line`.
    """
    file = read_file(path, ScenarioFile, entry_of)
    if file.value is None:
        raise FileErrors(file.errors())
    notes = Notes()
    robot = read_robot(file.value, path, notes)
    if robot is None:
        raise FileErrors(file.errors(notes.problems))
    scenario = _Loader(file, file.value, robot, notes).read()
    file.refuse(_each_once(file, notes.problems))
    return scenario


def _each_once(
    file: ReadFile[ScenarioFile], problems: list[Problem]
) -> Iterator[Problem]:
    """Leave out what would be said twice of one line."""
    said = set()
    for problem in problems:
        line = yaml_line(file.tree, problem.place)
        if (line, problem.message) not in said:
            said.add((line, problem.message))
            yield problem


class _Loader:
    """One pass over a file whose form is right, or was made right."""

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
        self._scene = Scene(
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
        """Return the plan; it is of use only if nothing was noted."""
        form, scene, notes = self._form, self._scene, self._notes
        scene.ticks(("duration_s",), form.duration_s)
        check_reservations(form, scene)
        notes.attempt(("posture",), self._robot.posture, form.posture)
        read_controller(("controller",), form.controller, notes)
        notes.attempt(("voice",), make_voice, form.voice)
        simulation = read_simulation(form, self._robot, notes)
        scene.start_degc = {
            joint.name: simulation.start_degc.get(
                joint.name, simulation.other_start_degc
            )
            for joint in self._robot.joints
        }
        self._add_library()
        library = self._robot.library
        behaviours = self._behaviours()
        if not self._file.left_out:
            check_ways(behaviours, form.posture, scene)
        check_wakings(behaviours, scene)
        commands = frozenset(form.commands)
        scene.groups = commands | frozenset(group_ids(library, behaviours))
        said = (event.say for event in form.events if isinstance(event, SayEvent))
        scene.spoken = frozenset((*spoken_texts(library, behaviours), *said))
        scene.events = event_names(form.events, scene)
        events = self._events()
        expectations = self._expectations()
        if not self._file.left_out:
            check_grants(
                behaviours,
                expectations,
                self._ledger.preemption,
                scene,
                changes_body=any(isinstance(e.action, ChangeBody) for e in events),
            )
        return Scenario(
            name=form.name,
            about=form.about,
            path=self._file.path,
            text=read_text(self._file.path),
            robot=self._robot,
            body=form.body,
            posture=form.posture,
            duration_ticks=scene.duration_ticks,
            seed=form.seed,
            controller=form.controller,
            voice=form.voice,
            simulation=simulation,
            ledger=self._ledger,
            transmitter=read_transmitter(form.transmitter, scene),
            library=library,
            behaviours=behaviours,
            events=events,
            expectations=expectations,
        )

    def _add_library(self) -> None:
        """Give the robot the entries of the file too, if they are right."""
        own = self._robot.library
        known = KnownNames.of_library(own).with_left_out(self._file.left_out)
        joined = joined_commands(self._form)
        problems = library_problems(self._form, self._robot, known, joined)
        self._notes.problems += problems
        left_out = {place[0] for place in self._file.left_out}
        scene = self._scene
        scene.is_library_right = not problems and not left_out & set(_SECTIONS)
        if scene.is_library_right:
            more = own.with_more(build_library(self._form, self._robot))
            scene.robot = self._robot = replace(self._robot, library=more)

    def _behaviours(self) -> tuple[Behaviour, ...]:
        started: dict[str, float] = {}
        for event in self._form.events:
            if isinstance(event, StartEvent):
                before = started.get(event.start, math.inf)
                started[event.start] = min(before, event.at_s or 0.0)
        if any(place[0] == "events" for place in self._file.left_out):
            started = {form.name: 0.0 for form in self._form.behaviours}  # perhaps
        found = read_behaviours(self._form.behaviours, self._scene, started)
        check_owner_tree(found, self._scene)
        return found

    def _events(self) -> tuple[ScenarioEvent, ...]:
        read = [
            read_event(
                form,
                ("events", i),
                self._scene,
                self._file.tree["events"][i],
                self._line(("events", i)),
            )
            for i, form in enumerate(self._form.events)
        ]
        if not self._file.left_out:
            check_repairs(read, self._scene)
            check_triggers(read, self._scene)
        return tuple(event for event in read if event is not None)

    def _expectations(self) -> tuple[Expectation, ...]:
        found: list[tuple[Place, Expectation]] = []
        for i, form in enumerate(self._form.expect):
            place: Place = ("expect", i)
            tree = self._file.tree["expect"][i]
            line = self._line(place)
            item = read_expectation(form, place, self._scene, tree, line)
            if item is not None:
                found.append((place, item))
        check_together(found, self._scene.tree, self._notes)
        check_times(found, self._scene)
        return tuple(item for _, item in found)

    def _line(self, place: Place) -> int:
        return yaml_line(self._file.tree, place) or 1
