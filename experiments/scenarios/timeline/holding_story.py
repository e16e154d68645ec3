"""What the first cell of the notebook `04_who_held_what` may be set to."""

from dataclasses import dataclass

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.experiments.report.notebook_parameters import (
    Seed,
    check_controllers,
    check_names,
)
from nao_testbed.experiments.scenarios.reading.load import SCENARIOS


@dataclass(frozen=True, kw_only=True)
class HoldingStory(Checked):
    """Of `04_who_held_what`."""

    scenario: str
    """The name of a scenario that ships."""
    controller: str | None
    """Of stiffness, in the place of the scenario's; None: that."""
    seed: Seed

    def __post_init__(self) -> None:
        """Refuse what the notebook cannot use."""
        super().__post_init__()
        check_names("scenario", [self.scenario], SCENARIOS.names())
        if self.controller is not None:
            check_controllers([self.controller])
