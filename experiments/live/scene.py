"""What the page shows and asks: robots in 3-D, plots, buttons; made with viser.

Callbacks come on threads of viser's. They check what the browser sent, whoever sent it,
and hand an action on; nothing here touches a robot.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from controllers.arbitration.requests import HIGHEST
from experiments.live.operation import (
    OPERATOR_PRIORITY,
    Action,
    ChangeController,
    HeatNow,
    Moment,
    PushNow,
    TakeHead,
    TurnHead,
)
from experiments.report.replay_body import clothe
from experiments.report.replay_scene import APART, Figure, hottest_text, lay_stage
from models import BadInput, Robot

if TYPE_CHECKING:
    from viser import ViserServer

FloatArray = NDArray[np.float64]
Send = Callable[[int, Action], bool]
"""Given the number of a robot and what is wanted of it; False: too much at once."""

ALL = "all robots"
PLOT_S = 1.0
"""Simulated time between two points of a plot."""
PLOT_POINTS = 900
PLOTTED = 5
"""Joints in a plot: those that are hottest at its end."""
COLOURS = ("#d1495b", "#2e86ab", "#e39b1c", "#3f9b6b", "#8661c1")
DEGREES_HEAD = (-119.0, 119.0), (-38.0, 29.0)
HEIGHT_M = 0.58


@dataclass
class _History:
    time_s: list[float] = field(default_factory=list)
    degc: list[FloatArray] = field(default_factory=list)


class Scene:
    """Everything on the page; `show` the newest moments again and again."""

    def __init__(
        self,
        server: "ViserServer",
        robot: Robot,
        q: FloatArray,
        names: Sequence[str],
        controllers: Sequence[str],
        send: Send,
        slope_deg: float = 0.0,
    ) -> None:
        """Lay the stage and make the controls.

        Args:
            server: of viser.
            robot: that all of them are.
            q: (n_joints,) of the posture, in which drums are measured.
            names: of the robots.
            controllers: that may be chosen.
            send: takes actions to robots.
            slope_deg: of the ground.
        """
        self._robot, self._names, self._send = robot, tuple(names), send
        lay_stage(server, len(names), HEIGHT_M, slope_deg)
        body = clothe(robot, q)
        places = HEIGHT_M * APART * (np.arange(len(names)) - 0.5 * (len(names) - 1))
        self._figures = [
            Figure(server, i, body, name, float(y), HEIGHT_M)
            for i, (name, y) in enumerate(zip(names, places, strict=True))
        ]
        self._histories = [_History() for _ in names]
        gui = server.gui
        gui.configure_theme(
            show_logo=False, show_share_button=False, control_width="large"
        )
        self._state = [gui.add_markdown(f"**{name}**") for name in names]
        self._plots: list[Any] = []
        self._gui = gui
        with gui.add_folder("Temperatures in °C"):
            for name in names:
                self._plots.append(self._make_plot(name))
        with gui.add_folder("Do"):
            self._make_controls(controllers)
        self._said = gui.add_markdown("")
        self._shown_said: tuple[str, ...] = ()

    def show(self, moments: Sequence[Moment | None]) -> None:
        """Show the newest moment of each robot; None leaves it as it is."""
        for i, moment in enumerate(moments):
            if moment is None:
                continue
            name = f"{self._names[i]}" + (
                "" if moment.controller == self._names[i] else f" → {moment.controller}"
            )
            text = hottest_text(name, self._robot, moment.degc)
            rotation = Rotation.from_quat(moment.quaternion).as_matrix()
            self._figures[i].put(rotation, moment.position, moment.q, moment.degc, text)
            history = self._histories[i]
            if not history.time_s or moment.time_s >= history.time_s[-1] + PLOT_S:
                history.time_s.append(moment.time_s)
                history.degc.append(moment.degc)
                del history.time_s[:-PLOT_POINTS], history.degc[:-PLOT_POINTS]
                self._plot(i)
                self._state[i].content = self._describe(name, moment)
        said = tuple(
            f"- {self._names[i]}: {_plain(line)}"
            for i, moment in enumerate(moments)
            if moment is not None
            for line in moment.said
        )
        if said != self._shown_said:
            self._said.content = "\n".join(said)
            self._shown_said = said

    def _describe(self, name: str, moment: Moment) -> str:
        hottest = int(moment.degc.argmax())
        joint = self._robot.joint_names[hottest]
        sonar = " / ".join(f"{r:.2f}" for r in moment.sonar)
        lines = [
            f"**{_plain(name)}** {'has fallen' if moment.has_fallen else ''}"
            f" hottest: **{joint} {moment.degc[hottest]:.1f} °C**",
            f"t {moment.time_s:.0f} s"
            + (f", {moment.late_s:.2f} s late" if moment.late_s > 0.1 else "")
            + f"; feet {moment.fsr.sum():.0f} N"
            + (f"; sonars {sonar} m" if sonar else "")
            + f"; head: {moment.head or 'nobody'}",
        ]
        return "<br>".join(lines)

    # -- plots -------------------------------------------------------------------------

    def _make_plot(self, name: str) -> Any:
        series: list[dict[str, Any]] = [{"label": "s"}]
        series += [
            {"label": f"joint {k + 1}", "stroke": COLOURS[k], "width": 2}
            for k in range(PLOTTED)
        ]
        empty = tuple(np.zeros(1) for _ in series)
        return self._gui.add_uplot(
            empty,
            series=tuple(series),  # type: ignore[arg-type]  # typed dictionaries
            title=name,
            aspect=1.9,
            scales={"x": {"time": False}},
        )

    def _plot(self, i: int) -> None:
        history, plot = self._histories[i], self._plots[i]
        degc = np.array(history.degc)
        first = np.argsort(-degc[-1], kind="stable")[:PLOTTED]
        plot.data = (np.array(history.time_s), *degc[:, first].T.copy())
        plot.series = (
            {"label": "s"},
            *(
                {"label": self._robot.joint_names[j], "stroke": c, "width": 2}
                for j, c in zip(first, COLOURS, strict=True)
            ),
        )

    # -- controls ----------------------------------------------------------------------

    def _make_controls(self, controllers: Sequence[str]) -> None:
        gui = self._gui
        whom = gui.add_dropdown("robot", (ALL, *self._names))
        with gui.add_folder("Push"):
            way = gui.add_slider("direction °", -180, 180, 5, 0)
            force = gui.add_slider("force N", 0, 40, 0.5, 5)
            duration = gui.add_slider("for s", 0.05, 2.0, 0.05, 0.2)
            push = gui.add_button("Push")
        with gui.add_folder("Heat a joint"):
            joint = gui.add_dropdown("joint", self._robot.joint_names)
            degc = gui.add_slider("°C", 20, 120, 1, 70)
            heat = gui.add_button("Heat")
        with gui.add_folder("Controller"):
            controller = gui.add_dropdown("controller", tuple(controllers))
            change = gui.add_button("Change")
        with gui.add_folder("Head"):
            priority = gui.add_slider("priority", 0, HIGHEST, 1, OPERATOR_PRIORITY)
            take = gui.add_button("Take")
            give = gui.add_button("Give back")
            yaw = gui.add_slider("yaw °", *DEGREES_HEAD[0], 1, 0)
            pitch = gui.add_slider("pitch °", *DEGREES_HEAD[1], 1, 0)

        def when(control: Any, make: Callable[[], Action]) -> None:
            happens = control.on_click if hasattr(control, "on_click") else None
            (happens or control.on_update)(lambda _event: self._want(whom.value, make))

        when(
            push,
            lambda: PushNow(
                direction_deg=way.value,
                force_n=force.value,
                duration_s=duration.value,
            ),
        )
        when(heat, lambda: HeatNow(joint=joint.value, degc=degc.value))
        when(change, lambda: ChangeController(controller=controller.value))
        when(take, lambda: TakeHead(take=True, priority=priority.value))
        when(give, lambda: TakeHead(take=False))
        for slider in (yaw, pitch):
            when(slider, lambda: TurnHead(yaw_deg=yaw.value, pitch_deg=pitch.value))

    def _want(self, whom: object, make: Callable[[], Action]) -> None:
        """Send an action to whom it is for; what makes no sense goes nowhere."""
        try:
            action = make()
        except (BadInput, TypeError, ValueError):
            return  # no control of ours sends that
        for i, name in enumerate(self._names):
            if whom in (ALL, name):
                self._send(i, action)


def _plain(text: str) -> str:
    """Return a text that a page of Markdown shows as it is."""
    return "".join(f"&#{ord(c)};" if c in "<>&*_[]()`#\\|~!" else c for c in text)
