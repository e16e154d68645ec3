"""Single schemas: declaration, states, iterations (JD-1 to 4, 16, 19, 20)."""

from contextlib import suppress
from dataclasses import dataclass, fields
from math import nan
from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.events import Executed
from nao_testbed.controllers.schemas import Activation, SchemaInfo, State, Variable
from nao_testbed.controllers.schemas.events import NotWinner
from nao_testbed.controllers.schemas.example import Example
from nao_testbed.models import BadInput, Robot, UnknownName
from tests.controllers.schemas.schema_world import SchemaWorld, actuation, perceptive
from tests.messages import Messages, each


@dataclass(frozen=True, kw_only=True)
class Speed:
    rad: float = 0.1


@pytest.mark.requirement("JD-1")
def test_several_schemas_run_at_once(nao: Robot) -> None:
    head = actuation(
        "head", needs=("HeadYaw",), iterate=lambda s: s.submit("HeadYaw", 0.1)
    )
    arm = actuation(
        "arm", needs=("LElbowYaw",), iterate=lambda s: s.submit("LElbowYaw", 0.2)
    )
    stage = SchemaWorld.of(nao, head, arm).begin("head").begin("arm").slot(3)
    assert stage.runtime.winners == ("head", "arm")
    assert stage.executed_by() == {tick: {"head", "arm"} for tick in range(3)}


@pytest.mark.requirement("JD-2")
def test_schema_can_be_stopped_resumed_and_modulated(nao: Robot) -> None:
    def iterate(schema: Any) -> None:
        schema.count = getattr(schema, "count", 0) + 1
        schema.write("count", schema.count)
        schema.submit("HeadYaw", schema.parameters.rad)

    heard: list[float] = []
    turn = actuation(
        "turn",
        needs=("HeadYaw",),
        parameters=Speed,
        outputs=(Variable(name="count", type=int, about="Iterations."),),
        iterate=iterate,
        on_modulated=lambda s: heard.append(s.parameters.rad),
    )
    stage = SchemaWorld.of(nao, turn).begin("turn").slot(3)
    assert stage.world.target_of("HeadYaw") == pytest.approx(0.1)
    stage.runtime.modulate("turn", {"rad": 0.3}, stage.tick)
    stage.slot()
    assert heard == [0.3]
    assert stage.world.target_of("HeadYaw") == pytest.approx(0.3)

    stage.runtime.sleep("turn", stage.tick)
    stage.slot(5)
    assert stage.runtime.value("turn", "count") == 4, "iterated while asleep"
    stage.runtime.wake("turn", stage.tick + 1)
    stage.slot()
    assert stage.runtime.value("turn", "count") == 5, "lost its state"


@pytest.mark.requirement("JD-3")
def test_perception_levels_feed_an_actuation_schema(nao: Robot) -> None:
    """Two levels of perception, then a command."""
    yaw = nao.joint_index("HeadYaw")
    angle = perceptive(
        "angle",
        outputs=(Variable(name="rad", type=float, about="Of the head."),),
        perceive=lambda s: s.write("rad", float(s.observation.q[yaw])),
    )
    side = perceptive(
        "side",
        reads=("angle.rad",),
        outputs=(Variable(name="word", type=str, about="Left or right."),),
        perceive=lambda s: s.write("word", "left" if s.read("angle.rad") > 0 else "no"),
    )
    back = actuation(
        "back",
        needs=("HeadYaw",),
        reads=("side.word",),
        ready=lambda s: s.read("side.word") == "left",
        iterate=lambda s: s.submit("HeadYaw", -0.5),
    )
    watcher = actuation(
        "watcher", start=lambda s: [s.wake(name) for name in ("angle", "side", "back")]
    )
    stage = SchemaWorld.of(nao, angle, side, back, watcher).begin("watcher").slot(3)
    assert not stage.executed_by()
    stage.world.robot.q[yaw] = 0.2
    stage.slot()
    assert stage.world.target_of("HeadYaw") == pytest.approx(-0.5), "same slot"


@pytest.mark.requirement("JD-4")
def test_actuation_schema_takes_all_four_states(nao: Robot) -> None:
    turn = actuation("turn", ready=lambda s: 3 <= s.tick < 6)
    parent = actuation("parent", period_s=0.02, start=lambda s: s.wake("turn"))
    stage = SchemaWorld.of(nao, turn, parent).begin("parent").slot(8)
    stage.runtime.sleep("parent", 8)
    assert stage.states("parent/turn") == [
        (0, State.CHECKING),
        (3, State.READY),
        (4, State.WINNER),  # at its parent's next iteration
        (6, State.CHECKING),
        (8, State.SLEPT),
    ]


@pytest.mark.requirement("JD-4")
def test_perceptive_schema_is_asleep_or_winner(nao: Robot) -> None:
    looks: list[int] = []
    eye = perceptive("eye", perceive=lambda s: looks.append(s.tick), period_s=0.03)
    stage = SchemaWorld.of(nao, eye)
    stage.runtime.add(Activation(schema="eye"))
    stage.slot()
    assert stage.state("eye") is State.SLEPT
    stage.runtime.wake("eye", 1)
    stage.slot(6)
    stage.runtime.sleep("eye", 7)
    stage.slot(5)
    assert looks == [1, 4]
    assert stage.states("eye") == [(1, State.WINNER), (7, State.SLEPT)]


@pytest.mark.requirement("JD-16")
def test_sensors_are_read_and_motors_written_in_each_slot(nao: Robot) -> None:
    yaw, pitch = nao.joint_index("HeadYaw"), nao.joint_index("HeadPitch")
    follow = actuation(
        "follow",
        needs=("HeadPitch",),
        iterate=lambda s: s.submit("HeadPitch", float(s.observation.q[yaw])),
    )
    stage = SchemaWorld.of(nao, follow).begin("follow")
    for angle in np.linspace(0.0, 0.3, 7):
        stage.world.robot.q[yaw] = angle
        stage.slot()
        assert stage.world.robot.target[pitch] == pytest.approx(angle)


@pytest.mark.requirement("JD-19", "JD-20")
@pytest.mark.parametrize("slots", [1, 2, 3, 10])
def test_iterations_follow_the_period(nao: Robot, slots: int) -> None:
    ticks: list[int] = []
    steady = actuation(
        "steady", period_s=0.01 * slots, iterate=lambda s: ticks.append(s.tick)
    )
    SchemaWorld.of(nao, steady).slot(4).begin("steady").slot(100)
    assert ticks == list(range(4, 104, slots))


@pytest.mark.requirement("JD-20")
def test_example_turns_the_head_and_finishes(nao: Robot) -> None:
    stage = SchemaWorld.of(nao)
    stage.begin("example", parameters={"amplitude": 0.2, "turn_s": 1.0, "for_s": 0.5})
    yaw, seen = nao.joint_index("HeadYaw"), []
    for _ in range(60):
        stage.slot()
        seen.append(stage.world.robot.target[yaw])
    assert max(seen) == pytest.approx(0.2, abs=1e-3)
    written = len(stage.told(Executed))
    assert written == 25, "one command per 20 ms for 0.5 s"
    assert stage.runtime.is_quiet
    assert Example.info.period_s == 0.02


def test_skipped_slots_are_caught_up_once(nao: Robot) -> None:
    """A run may let time pass for heat only; the grid does not change."""
    ticks: list[int] = []
    steady = actuation("steady", period_s=0.03, iterate=lambda s: ticks.append(s.tick))
    stage = SchemaWorld.of(nao, steady).begin("steady").slot(4)
    stage.tick = 99
    stage.slot(4)
    assert ticks == [0, 3, 100, 102]


@pytest.mark.parametrize("method", ["ready", "stop"])
def test_commands_act_only_in_start_and_iterate(nao: Robot, method: str) -> None:
    answers: list[object] = []

    def tries(schema: Any) -> bool:
        answers.append(schema.submit("HeadYaw", 0.3))
        answers.append(schema.play("wave").has_failed)
        return True

    given: Any = {method: tries}
    stage = SchemaWorld.of(nao, actuation("turn", needs=("HeadYaw",), **given))
    stage.begin("turn").slot(2)
    stage.runtime.sleep("turn", 2)
    stage.slot()
    assert answers[:2] == [False, True]
    assert not stage.told(Executed)
    assert not stage.acts.orders
    assert {event.what for event in stage.told(NotWinner)} == {"submit", "play"}


ODD: tuple[object, ...] = (
    None,
    True,
    7,
    -1.0,
    nan,
    "",
    "Head",
    b"Head",
    ["Head"],
    (1,),
    {"Head"},
    [[]],
)
ODD += ({"v": 0.0}, {1: 2}, {"Head": "all"}, int, int | None, list[int], object(), len)


@pytest.mark.parametrize("odd", ODD, ids=[type(odd).__name__ for odd in ODD])
@pytest.mark.parametrize("kind", [SchemaInfo, Variable, Activation])
def test_any_field_value_is_accepted_or_rejected_with_our_error(
    kind: type, odd: object
) -> None:
    """Each field gets each value; only BadInput or UnknownName may be raised."""
    good: dict[str, Any] = {"name": "x", "about": "Of a test."}
    if kind is Variable:
        good["type"] = float
    if kind is Activation:
        good = {"schema": "wave"}
    for one in fields(kind):
        with suppress(BadInput, UnknownName):
            kind(**{**good, one.name: odd})


def test_declaration_copies_its_containers() -> None:
    rates, reads = {"Processor": 10.0}, ["a.b"]
    info = SchemaInfo(name="x", about="Of a test.", rates=rates, reads=reads)  # type: ignore[arg-type]
    rates["Processor"] = 100.0
    reads.clear()
    assert (info.rates, info.reads) == ({"Processor": 10.0}, ("a.b",))


def test_reserved_parameter_name_is_rejected() -> None:
    @dataclass(frozen=True)
    class Taken:
        order: int = 0

    with pytest.raises(BadInput, match="parameter 'order'"):
        SchemaInfo(name="x", about="Of a test.", parameters=Taken)

    @dataclass(frozen=True)
    class Bare:
        speed: float

    with pytest.raises(BadInput, match="Give each field a default"):
        SchemaInfo(name="x", about="Of a test.", parameters=Bare)


def test_schema_has_robot_state_period_and_its_own_random(nao: Robot) -> None:
    seen: list[tuple[object, ...]] = []

    def start(schema: Any) -> None:
        state = schema.active_state("State")
        seen.append((schema.robot, state, schema.period_s, schema.random.random()))

    stage = SchemaWorld.of(nao, actuation("looks", start=start, period_s=0.05), seed=3)
    stage.ledger.set_state("State", "Sit", 0)
    stage.begin("looks", name="one").begin("looks", name="two").slot()
    (robot, state, period_s, first), (*_, second) = seen
    assert robot is nao
    assert (state, period_s) == ("Sit", 0.05)
    assert first != second, "two instances share a generator"


def test_several_leaves_are_commanded_all_or_none(nao: Robot) -> None:
    answers: list[bool] = []

    def iterate(schema: Any) -> None:
        answers.append(schema.submit_all({"HeadYaw": 0.1, "HeadPitch": 0.1}))
        answers.append(schema.submit_all({"HeadYaw": 0.2, "LElbowYaw": 0.2}))

    stage = SchemaWorld.of(nao, actuation("turn", needs=("Head",), iterate=iterate))
    stage.begin("turn").slot()
    assert answers == [True, False]
    assert stage.world.target_of("HeadYaw") == pytest.approx(0.1)


def test_messages(messages: Messages, nao: Robot) -> None:
    messages(
        invalid_period=lambda: SchemaWorld.of(
            nao, actuation("odd", period_s=0.015)
        ).begin("odd"),
        invalid_declaration=each(
            lambda **wrong: SchemaInfo(**{"name": "x", "about": "Of a test."} | wrong),
            name=["a/b", None],
            period_s=[0.0, "0.1"],
            reads=[("distance",), "a.b", {"a.b"}],
            needs=[("Head", "Head")],
            parameters=[int],
            outputs=[{"v": 0.0}, "v", ("v",)],
            rates=[(("Processor", 1),)],
            about=[3],
        ),
        invalid_activation=each(
            lambda **wrong: Activation(**{"schema": "wave", **wrong}),
            parameters=[5],
            order=[nan],
            children=[("wave",)],
            rates=[5],
            schema=[5],
        ),
        unknown_output=lambda: (
            SchemaWorld.of(nao, perceptive("eye"))
            .begin("eye")
            .slot()
            .runtime.value("eye", "x")
        ),
    )
