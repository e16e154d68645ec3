"""Says how firmly a robot stands on its soles, in one number.

Three measured numbers, each with a few words, go through fuzzy rules: where the soles
press the ground, where the capture point lies, and how fast the body turns. Thresholds
on each of them alone would flicker; the rules weigh them together.

The words follow what was simulated: a NAO that stands has its capture point 30 to 47 mm
inside, one that was pushed and stayed had it down to 0 and turned at 40 to 100
degrees/s, and beyond 20 mm outside none came back.
"""

from dataclasses import dataclass
from math import degrees

from controllers.schemas.info import SchemaInfo
from controllers.schemas.library.balance import PRESSED_NEWTON, Balance
from controllers.schemas.library.fuzzy import (
    FuzzyController,
    FuzzySet,
    FuzzyVariable,
    Rule,
    triangle,
)
from controllers.schemas.library.ranges import check_between
from controllers.schemas.schema import PerceptiveSchema
from controllers.schemas.variables import Variable


@dataclass(frozen=True, kw_only=True)
class BalanceWatchParameters:
    """From where on the robot stands unsafely."""

    unstable_from: float = 0.5
    """Unrest from which it is unstable, in [0, 1]."""
    stable_below: float = 0.35
    """Unrest below which it is stable again."""

    def __post_init__(self) -> None:
        """Refuse limits out of order.

        Raises:
            BadInput: one of them.
        """
        check_between("unstable_from", self.unstable_from, 0.0, 1.0)
        check_between("stable_below", self.stable_below, 0.0, self.unstable_from)


class BalanceWatch(PerceptiveSchema[BalanceWatchParameters]):
    """Weighs pressure, capture point and speed."""

    info = SchemaInfo(
        name="balance watch",
        about="Says how firmly the robot stands on its soles.",
        period_s=0.1,
        parameters=BalanceWatchParameters,
        outputs=(
            Variable(
                name="unrest",
                type=float,
                about="0 stands firmly, 1 falls.",
                initial=0.0,
            ),
            Variable(
                name="is_unstable",
                type=bool,
                about="Whether unrest is high, and has not become low since.",
                initial=False,
            ),
            Variable(
                name="cop_margin_m",
                type=float,
                unit="m",
                about="Of the centre of pressure to the edge of the soles' sensors.",
                initial=0.0,
            ),
            Variable(
                name="capture_margin_m",
                type=float,
                unit="m",
                about="Of the capture point; negative outside.",
                initial=0.0,
            ),
            Variable(
                name="is_on_soles",
                type=bool,
                about="Whether the soles carry the robot at all; else nothing is said.",
                initial=False,
            ),
        ),
    )

    def start(self) -> None:
        """Build the rules."""
        self._balance = Balance(self.robot)
        self._rules = unrest_rules()
        self._is_unstable = False

    def perceive(self) -> None:
        """Look at the newest observation."""
        seen = self._balance.step(self.observation)
        is_on_soles = seen.load_newton >= PRESSED_NEWTON
        unrest = self._rules.decide(
            {
                "pressure margin": seen.cop_margin,
                "capture margin": seen.capture_margin,
                "speed": degrees(seen.tilt_rate),
            }
        )
        now = self.parameters
        limit = now.stable_below if self._is_unstable else now.unstable_from
        self._is_unstable = is_on_soles and unrest >= limit
        self.write("is_on_soles", is_on_soles)
        self.write("unrest", unrest if is_on_soles else 0.0)
        self.write("is_unstable", self._is_unstable)
        self.write("cop_margin_m", seen.cop_margin)
        self.write("capture_margin_m", seen.capture_margin)


def unrest_rules() -> FuzzyController:
    """Return the rules of the watch: margins in m and degrees/s to unrest."""
    pressure = FuzzyVariable(
        name="pressure margin",
        low=0.0,
        high=0.05,
        words={
            "edge": FuzzySet(foot=0.0, rise=0.0, fall=0.003, end=0.015),
            "inside": FuzzySet(foot=0.003, rise=0.015, fall=0.05, end=0.05),
        },
    )
    capture = FuzzyVariable(
        name="capture margin",
        low=-0.1,
        high=0.1,
        words={
            "outside": FuzzySet(foot=-0.1, rise=-0.1, fall=-0.02, end=0.0),
            "edge": triangle(-0.02, 0.0, 0.025),
            "inside": FuzzySet(foot=0.0, rise=0.025, fall=0.1, end=0.1),
        },
    )
    speed = FuzzyVariable(
        name="speed",
        low=0.0,
        high=200.0,
        words={
            "slow": FuzzySet(foot=0.0, rise=0.0, fall=20.0, end=60.0),
            "quick": FuzzySet(foot=20.0, rise=60.0, fall=200.0, end=200.0),
        },
    )
    unrest = FuzzyVariable(
        name="unrest",
        low=-0.2,  # so that the centres of the outer words are at 0 and 1
        high=1.2,
        words={
            "none": triangle(-0.2, 0.0, 0.2),
            "some": triangle(0.15, 0.35, 0.55),
            "much": triangle(0.45, 0.65, 0.85),
            "fall": triangle(0.8, 1.0, 1.2),
        },
    )
    rules = (
        Rule(when={"capture margin": "inside", "speed": "slow"}, then="none"),
        Rule(when={"capture margin": "inside", "speed": "quick"}, then="some"),
        Rule(when={"capture margin": "edge", "speed": "slow"}, then="some"),
        Rule(when={"capture margin": "edge", "speed": "quick"}, then="much"),
        Rule(when={"capture margin": "edge", "pressure margin": "edge"}, then="much"),
        Rule(when={"capture margin": "outside", "speed": "slow"}, then="much"),
        Rule(when={"capture margin": "outside", "speed": "quick"}, then="fall"),
    )
    return FuzzyController((pressure, capture, speed), unrest, rules, otherwise=0.0)
