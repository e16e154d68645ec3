"""What a scenario file may say: the root of the form."""

from typing import Annotated

from pydantic import ConfigDict, Field, Strict

from experiments.scenarios.form.base import Name, Prose
from experiments.scenarios.form.behaviours import BehaviourForm
from experiments.scenarios.form.events import AnyEvent
from experiments.scenarios.form.expectations import AnyExpectation
from experiments.scenarios.form.settings import (
    ReservationsForm,
    SimulationForm,
    TransmitterForm,
    WorldForm,
)
from models.library_yaml import LibraryForm
from models.rows import PositiveSeconds


class ScenarioFile(LibraryForm):
    """A scripted scenario: who wants what, what happens, what is expected.

    Motions, lights, sounds, commands and transitions are those of the robot and these.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: Name
    """Short, for lists."""
    about: Prose
    """What it shows, in a sentence or two."""
    robot: Name = "nao"
    """`nao`, or the folder of another robot, seen from this file."""
    body: Name | None = None
    """Body of the robot, such as H25; absent: with all parts."""
    posture: Name = "Stand"
    """Stored posture in which it begins, at rest."""
    duration_s: Annotated[PositiveSeconds, Strict()]
    """Simulated time in s."""
    seed: Annotated[int, Strict(), Field(ge=0)] = 0
    """Of all noise and chance."""
    controller: Name = "fixed"
    """Stiffness controller, as `nao-testbed heat --controllers` names it."""
    voice: Name = "syllables"
    """Who speaks: `syllables`, or `espeak`, whose words people understand."""
    world: WorldForm = WorldForm()
    simulation: SimulationForm = SimulationForm()
    reservations: ReservationsForm = ReservationsForm()
    transmitter: TransmitterForm = TransmitterForm()
    behaviours: list[BehaviourForm] = Field(default_factory=list)
    """In the order of acting."""
    events: list[AnyEvent] = Field(default_factory=list)
    expect: list[AnyExpectation] = Field(default_factory=list)
