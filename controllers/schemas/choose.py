"""A parent that lets those compete whom it is given (JD-5, JD-7)."""

from collections.abc import Sequence
from dataclasses import dataclass

from controllers.schemas.arbitration import ARBITRATIONS
from controllers.schemas.info import SchemaInfo
from controllers.schemas.schema import ActuationSchema
from controllers.schemas.waking import Waking
from models import Robot, UnknownName


@dataclass(frozen=True, kw_only=True)
class ChooseParameters:
    """How it chooses."""

    arbitration: str = "keep_winner"
    """Name of the rule: keep_winner or highest_order."""

    def __post_init__(self) -> None:
        """Refuse a rule that there is not.

        Raises:
            UnknownName: no rule has this name.
        """
        if self.arbitration not in ARBITRATIONS:
            raise UnknownName(
                "Arbitration", self.arbitration, ARBITRATIONS, "schema 'choose'"
            )


class Choose(ActuationSchema[ChooseParameters]):
    """Wakes its children, and lets one of those that are ready win.

    It commands nothing itself. Its period is the device slot, so that a child takes
    over in the slot in which it becomes ready.
    """

    info = SchemaInfo(
        name="choose",
        about="Lets its children compete; the winner acts.",
        period_s=0.01,
        parameters=ChooseParameters,
    )

    @classmethod
    def check_waking(
        cls, waking: Waking, parameters: ChooseParameters, robot: Robot
    ) -> None:
        """Refuse to have nobody to choose from.

        Raises:
            BadInput: it was given no children.
        """
        del parameters, robot
        waking.require_children()

    def start(self) -> None:
        """Wake all children, the first with the highest rank of equals."""
        for child in self.children_given:
            self.wake_child(child)

    def iterate(self) -> None:
        """Do nothing: the competition that follows is its work."""

    def arbitrate(self, ready: Sequence[str], present: str | None) -> str | None:
        """Choose by the rule of its parameters."""
        return ARBITRATIONS[self.parameters.arbitration](ready, present)
