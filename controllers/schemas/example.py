"""Example schema to copy and change [jdec-urjc, section 3.3].

It has all parts of a schema: parameters, needs, a precondition, iterations with the
period `period_s`, and an end. Register your own class in the `pyproject.toml` of your
package to activate it by its name:

    [project.entry-points."nao_testbed.schemas"]
    "my schema" = "my_package.my_schema:MySchema"
"""

from dataclasses import dataclass
from math import pi, sin

from nao_testbed.controllers.interface.panel import Line, Panel, Plot
from nao_testbed.controllers.schemas.declaration import SchemaInfo
from nao_testbed.controllers.schemas.schema import ActuationSchema
from nao_testbed.models import BadInput, Robot


@dataclass(frozen=True, kw_only=True)
class ExampleParameters:
    """Amplitude and times of the head motion."""

    amplitude: float = 0.3
    """Maximum angle to either side, in rad."""
    turn_s: float = 4.0
    """Period of the motion from side to side, in s."""
    for_s: float = 0.0
    """Time after which it finishes, in s; 0: never."""

    def __post_init__(self) -> None:
        """Validate the times.

        Raises:
            BadInput: `turn_s` is not positive, or `for_s` is negative.
        """
        if self.turn_s <= 0.0 or self.for_s < 0.0:
            raise BadInput(
                f"turn_s is {self.turn_s} s and for_s {self.for_s} s; turn_s must be "
                "positive, for_s 0 or more."
            )


class Example(ActuationSchema[ExampleParameters]):
    """Schema that turns the head from side to side."""

    info = SchemaInfo(
        "example",
        "Turn the head from side to side: an example to copy.",
        period_s=0.02,
        parameters=ExampleParameters,
    )
    began_s = 0.0

    @classmethod
    def needs_of(cls, parameters: ExampleParameters, robot: Robot) -> tuple[str, ...]:
        """Return the motor that pans the head; fixed needs can stand in `info`."""
        del parameters
        return robot.head("schema 'example'")[:1]

    @property
    def _pan(self) -> str:
        return self.robot.head("schema 'example'")[0]

    def ready(self) -> bool:
        """Return True if the head can move: its motor has some stiffness."""
        joint = self.robot.joint_index(self._pan)
        return bool(self.observation.stiffness[joint] > 0.0)

    def panel(self) -> Panel:
        """Return the panel of the schema; this method is optional."""
        yaw = float(self.observation.q[self.robot.joint_index(self._pan)])
        lines = (Line(name="yaw", value=yaw),)
        return Panel(plot=Plot(title=self._pan, unit="rad", lines=lines))

    def start(self) -> None:
        """Start at the centre."""
        self.began_s = self.time_s

    def iterate(self) -> None:
        """Continue turning, or finish."""
        elapsed_s, now = self.time_s - self.began_s, self.parameters
        if now.for_s and elapsed_s >= now.for_s:
            self.finish()
            return
        self.submit(self._pan, now.amplitude * sin(2.0 * pi * elapsed_s / now.turn_s))
