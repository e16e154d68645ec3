"""Parameters of the first cell of the notebook `04_who_held_what`."""

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
    """Parameters of `04_who_held_what`."""

    scenario: str
    """Name of a built-in scenario."""
    controller: str | None
    """Stiffness controller that replaces the scenario's; None: the scenario's."""
    seed: Seed

    def __post_init__(self) -> None:
        """Reject values that the notebook cannot use."""
        super().__post_init__()
        check_names("scenario", [self.scenario], SCENARIOS.names())
        if self.controller is not None:
            check_controllers([self.controller])
