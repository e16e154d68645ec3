"""Controllers by name: built-in ones, variants, and those of other packages."""

import copy
import dataclasses
from importlib.metadata import EntryPoint, EntryPoints
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nao_testbed.controllers import (
    ConstantStiffness,
    Controller,
    FixedStiffness,
    Limits,
    MinHeat,
    Observation,
    SensorError,
    SmartStiffness,
    controller_names,
    make_controller,
    registry,
)
from nao_testbed.controllers.registry import BUILT_IN, VARIANTS
from nao_testbed.controllers.stiffness import (
    ApproachOffset,
    BlockedJointOffset,
    ConstantOffset,
    GuardCfg,
    PostureOffset,
    ProductPolicy,
    WarmJointOffset,
)
from nao_testbed.controllers.stiffness.offset import OffsetLaw
from nao_testbed.experiments.cli import app
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.values import FloatArray
from tests.controllers.helpers import Observe
from tests.messages import Messages, each

ROOT = Path(__file__).resolve().parents[2]
ARGUMENTS = {"constant": "constant:0.6", "current": "current:0.5"}
OURS = (*BUILT_IN, *VARIANTS)
SPECS = tuple(ARGUMENTS.get(name, name) for name in OURS)
OFFSET_NAMES = [n for n in OURS if n.startswith(("smart", "minheat"))]
READ = {
    "smart": ("q", "v", "gyro", "accelerometer", "fsr", "temperature"),
    "nudge": ("q", "v", "target", "current", "gyro", "fsr"),
    "minheat": ("q", "v", "gyro", "accelerometer", "fsr", "temperature", "current"),
}
"""Prefix of a controller name to the sensors that it needs."""
SENSED = {s: READ[n] for s in SPECS for n in READ if s.startswith(n)}


def _of(limits: Limits, name: str) -> list[float] | None:
    """Return an array of limits as a list, or None (a shift exists only at times)."""
    array = getattr(limits, name)
    return None if array is None else array.tolist()


@pytest.fixture
def made(nao: Robot, spec: str) -> Controller:
    controller = make_controller(spec)
    controller.reset(nao)
    assert controller.name == spec
    return controller


@pytest.mark.requirement("ST-22")
@pytest.mark.parametrize("spec", SPECS)
def test_every_controller_follows_the_protocol(
    nao: Robot, observe: Observe, made: Controller
) -> None:
    """A controller only reads the observation, and its outputs are copies."""
    observation = observe(nao)
    before = copy.deepcopy(observation)
    limits = made.step(observation)
    for field in dataclasses.fields(observation):
        np.testing.assert_array_equal(
            getattr(observation, field.name), getattr(before, field.name)
        )
    assert limits.stiffness.shape == (26,)
    assert ((limits.stiffness >= 0.0) & (limits.stiffness <= 1.0)).all()
    for given in (limits.stiffness, limits.shift):
        if given is not None:
            given[:] = 9.0
    assert not np.any(getattr(made, "shift", 0.0))
    report = getattr(made, "report", None)
    assert report is None or report.stiffness.max() <= 1.0
    again = made.step(observe(nao, time_s=0.02))
    assert again.stiffness.max() <= 1.0
    assert again.shift is None or not again.shift.any()


@pytest.mark.parametrize("spec", SPECS)
def test_same_observations_give_identical_limits(
    nao: Robot, observe: Observe, made: Controller, spec: str
) -> None:
    rng = np.random.default_rng(2)
    seen = [
        observe(
            nao,
            time_s=0.02 * k,
            q=nao.posture("PoseInit").angles + rng.normal(scale=0.001, size=26),
            current=np.full(len(nao.motors), 0.4),
            gyro=rng.normal(scale=0.005 if k < 80 else 0.5, size=3),
        )
        for k in range(90)
    ]
    other = make_controller(spec)
    other.reset(nao)
    runs = [[c.step(o) for o in seen] for c in (made, other)]
    assert runs[0][-1].shift is None or runs[0][-1].shift.any()
    made.reset(nao)
    assert not getattr(made, "flag_counts", None)
    runs.append([made.step(o) for o in seen])
    for name in ("stiffness", "shift"):
        a, b, c = ([_of(limits, name) for limits in run] for run in runs)
        assert a == b
        assert a == c


@pytest.mark.parametrize("spec", SENSED)
def test_nonfinite_sensor_value_stops_the_controller(
    nao: Robot, observe: Observe, made: Controller, spec: str
) -> None:
    for field, value in product(SENSED[spec], (np.nan, np.inf, -np.inf)):
        spoiled = getattr(observe(nao), field).copy()
        spoiled[1] = value
        said = rf"{field}\[1\] is {value} at t = 1.500 s"
        with pytest.raises(SensorError, match=said):
            made.step(observe(nao, time_s=1.5, **{field: spoiled}))


def test_plain_controllers_hold_their_value(nao: Robot, observe: Observe) -> None:
    fixed, constant = FixedStiffness(), ConstantStiffness(0.6)
    fixed.reset(nao)
    assert fixed.step(observe(nao)).stiffness.tolist() == [1.0] * 26
    assert constant.step(observe(nao)).stiffness.tolist() == [0.6] * 26


@pytest.mark.requirement("ST-5", "ST-20")
def test_name_selects_model_and_policy() -> None:
    full, product = make_controller("smart-full"), make_controller("smart-product")
    assert isinstance(full, SmartStiffness)
    assert full.cfg.model == "full"
    assert isinstance(product, SmartStiffness)
    assert isinstance(product.cfg.policy, ProductPolicy)
    assert product.name == "smart-product"


def test_smart_and_minheat_have_a_guard_and_other_variants_none() -> None:
    smart, minheat = make_controller("smart"), make_controller("minheat")
    assert isinstance(smart, SmartStiffness)
    assert isinstance(minheat, MinHeat)
    assert smart.cfg.guard == minheat.cfg.limits.guard == GuardCfg()
    for name in ("smart-document", "smart-full", "smart-product"):
        made = make_controller(name)
        assert isinstance(made, SmartStiffness)
        assert made.cfg.guard is None
    no_gear = make_controller("minheat-no-gear")
    assert isinstance(no_gear, MinHeat)
    assert no_gear.cfg.limits.guard == GuardCfg(), "only the gear differs"


def test_two_controllers_of_one_name_share_no_state() -> None:
    a, b = make_controller("smart-product"), make_controller("smart-product")
    assert isinstance(a, SmartStiffness)
    assert isinstance(b, SmartStiffness)
    assert a.cfg.policy is not b.cfg.policy
    assert a.cfg.offset is not b.cfg.offset


@pytest.mark.requirement("ST-19", "ST-30")
@pytest.mark.parametrize(
    ("words", "law"),
    [
        ("0.2", ConstantOffset(value=0.2)),
        ("Crouch=0.1+Sit=0", PostureOffset(table={"Crouch": 0.1, "Sit": 0.0})),
        ("approach", ApproachOffset()),
        ("warm", WarmJointOffset()),
        ("blocked", BlockedJointOffset()),
        (
            "warm+blocked=0.5+approach",
            WarmJointOffset(
                inner=BlockedJointOffset(inner=ApproachOffset(), patience_s=0.5)
            ),
        ),
        ("warm=45.5-60", WarmJointOffset(begin_degc=45.5, end_degc=60.0)),
        (
            "approach=2+warm+0.3",
            WarmJointOffset(
                inner=ApproachOffset(inner=ConstantOffset(value=0.3), time_constant_s=2)
            ),
        ),
    ],
)
def test_suffix_of_the_name_selects_the_offset(words: str, law: OffsetLaw) -> None:
    for name in OFFSET_NAMES:
        controller = make_controller(f"{name}:{words}")
        assert controller.name == f"{name}:{words}"
        limits = controller.limits if isinstance(controller, MinHeat) else controller
        assert isinstance(limits, SmartStiffness)
        assert limits.cfg.offset == law
        plain = make_controller(name)
        own = plain.limits if isinstance(plain, MinHeat) else plain
        assert isinstance(own, SmartStiffness)
        assert own.cfg.offset == PostureOffset(), "controllers share no offset"
        assert own.cfg.guard == limits.cfg.guard
        assert own.cfg.model == limits.cfg.model


@pytest.mark.requirement("ST-30")
def test_hot_joint_gets_only_the_equilibrium_torque(
    nao: Robot, observe: Observe
) -> None:
    knee = nao.joint_index("LKneePitch")
    temperature = np.full(len(nao.motors), 30.0)
    temperature[nao.servo_of_joint[knee]] = 75.0
    least, warm, usual = (
        step_of(nao, spec, observe(nao, temperature=temperature))
        for spec in ("smart:0", "smart:warm", "smart")
    )
    assert warm[knee] == least[knee]
    np.testing.assert_array_equal(np.delete(warm, knee), np.delete(usual, knee))
    assert usual[knee] == pytest.approx(least[knee] + 0.25)


def step_of(robot: Robot, spec: str, observation: Observation) -> FloatArray:
    controller = make_controller(spec)
    controller.reset(robot)
    return controller.step(observation).stiffness


def third_party(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    point = EntryPoint("half", value, registry.ENTRY_POINT_GROUP)
    points = EntryPoints((point,))

    def entry_points(group: str, name: str = "half") -> EntryPoints:
        return points.select(group=group, name=name)

    monkeypatch.setattr(registry, "entry_points", entry_points)


def test_variants_are_listed_only_in_their_table() -> None:
    page = (ROOT / "docs" / "guides" / "controllers.md").read_text("utf-8")
    table = page.partition("## Variants for comparison")[2].partition("\n## ")[0]
    shown = CliRunner().invoke(app, ["heat", "--help"]).output
    assert VARIANTS.keys() == {
        row.split("`")[1] for row in table.splitlines() if row.startswith("| `")
    }
    for name in VARIANTS:
        assert make_controller(name).name == name
        assert name not in controller_names()
        assert name not in shown
    with pytest.raises(UnknownName, match="Did you mean 'smart-document'"):
        make_controller("smart-documnt")


def test_controller_of_another_package_is_registered(
    monkeypatch: pytest.MonkeyPatch, nao: Robot, observe: Observe
) -> None:
    third_party(monkeypatch, "nao_testbed.controllers.registry:_constant")
    assert controller_names()[-1] == "half"
    controller = make_controller("half:0.5")
    controller.reset(nao)
    np.testing.assert_array_equal(controller.step(observe(nao)).stiffness, 0.5)


def test_package_that_fails_to_import_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    third_party(monkeypatch, "no_such_package:make")
    with pytest.raises(BadInput, match=r"'half' \(no_such_package:make\) cannot be"):
        make_controller("half")


@pytest.mark.parametrize("made", ["nothing", "array"])
def test_package_without_a_controller_is_named(
    monkeypatch: pytest.MonkeyPatch, made: str
) -> None:
    third_party(monkeypatch, f"{__name__}:{made}")
    with pytest.raises(BadInput, match="`name`, `reset` and `step`") as refused:
        make_controller("half")
    assert len(str(refused.value)) < 200
    assert "\n" not in str(refused.value)


def nothing(argument: str | None) -> None:
    """Return None instead of a controller."""


def array(argument: str | None) -> FloatArray:
    """Return an array, with a long representation, instead of a controller."""
    return np.zeros((30, 30))


def test_messages(messages: Messages, nao: Robot, observe: Observe) -> None:
    messages(
        step_before_reset=each(
            lambda spec: make_controller(spec).step(observe(nao)),
            *sorted(SENSED),
        ),
        unknown_controller=lambda: make_controller("smrt"),
        invalid_argument=each(
            make_controller,
            "constant",
            "constant:",
            "constant:half",
            "constant:1.5",
            "constant:nan",
            "current",
            "current:much",
            "current:-0.1",
            "current:nan",
            "current:inf",
            "fixed:0.5",
            "smart:",
            "smart:wram",
            "smart:1.5",
            "minheat:Crouch=2",
            "smart:0.1+0.2",
            "smart:0.1+Crouch=0.2",
            "smart:warm+warm",
            "smart:Sit=0.1+Sit=0.2",
            "smart:warm=70-50",
            "smart:warm=50",
            "smart:warm=50-inf",
            "smart:blocked=0",
            "smart:blocked=x",
            "smart:approach=0",
        ),
    )
