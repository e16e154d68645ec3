"""Controllers by name, the plain ones, and those of other packages."""

from importlib.metadata import EntryPoint, EntryPoints

import numpy as np
import pytest

from controllers import (
    ConstantStiffness,
    FixedStiffness,
    SmartStiffness,
    controller_names,
    make_controller,
    registry,
)
from controllers.stiffness import ProductPolicy
from models import BadInput, Robot, UnknownName
from tests.controllers.helpers import Observe


@pytest.mark.parametrize(
    "spec", ["fixed", "constant:0.6", "smart", "smart-full", "nudge"]
)
def test_every_controller_keeps_the_protocol(
    nao: Robot, observe: Observe, spec: str
) -> None:
    """Named, reset on a robot, one stiffness a joint in [0, 1], fresh arrays."""
    controller = make_controller(spec)
    controller.reset(nao)
    assert controller.name == spec
    limits = controller.step(observe(nao))
    assert limits.stiffness.shape == (26,)
    assert ((limits.stiffness >= 0.0) & (limits.stiffness <= 1.0)).all()
    again = controller.step(observe(nao, time_s=0.02))
    assert again.stiffness is not limits.stiffness


def test_plain_controllers_hold_their_value(nao: Robot, observe: Observe) -> None:
    fixed, constant = FixedStiffness(), ConstantStiffness(0.6)
    fixed.reset(nao)
    assert fixed.step(observe(nao)).stiffness.tolist() == [1.0] * 26
    assert constant.step(observe(nao)).stiffness.tolist() == [0.6] * 26


@pytest.mark.requirement("ST-5", "ST-20")
def test_names_choose_model_and_policy() -> None:
    full, product = make_controller("smart-full"), make_controller("smart-product")
    assert isinstance(full, SmartStiffness)
    assert full.cfg.model == "full"
    assert isinstance(product, SmartStiffness)
    assert isinstance(product.cfg.policy, ProductPolicy)
    assert product.name == "smart-product"


def test_two_controllers_of_one_name_share_nothing() -> None:
    a, b = make_controller("smart-product"), make_controller("smart-product")
    assert isinstance(a, SmartStiffness)
    assert isinstance(b, SmartStiffness)
    assert a.cfg.policy is not b.cfg.policy
    assert a.cfg.offset is not b.cfg.offset


def test_an_unknown_controller_is_refused_with_a_hint() -> None:
    with pytest.raises(UnknownName, match=r"Controller 'smrt' .*Did you mean 'smart'"):
        make_controller("smrt")


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ("constant", "has no number"),
        ("constant:", "has no number"),
        ("constant:half", "'constant:half' has no number"),
        ("constant:1.5", r"stiffness 1\.5; give a number from 0 to 1"),
        ("constant:nan", "stiffness nan"),
        ("fixed:0.5", "'fixed' takes no argument; got '0.5'"),
        ("smart:", "'smart' takes no argument"),
    ],
)
def test_a_wrong_argument_is_refused(spec: str, match: str) -> None:
    with pytest.raises(BadInput, match=match):
        make_controller(spec)


def third_party(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    point = EntryPoint("half", value, registry.ENTRY_POINT_GROUP)
    points = EntryPoints((point,))

    def entry_points(group: str, name: str = "half") -> EntryPoints:
        return points.select(group=group, name=name)

    monkeypatch.setattr(registry, "entry_points", entry_points)


def test_another_package_registers_a_controller(
    monkeypatch: pytest.MonkeyPatch, nao: Robot, observe: Observe
) -> None:
    third_party(monkeypatch, "controllers.registry:_constant")
    assert controller_names()[-1] == "half"
    controller = make_controller("half:0.5")
    controller.reset(nao)
    np.testing.assert_array_equal(controller.step(observe(nao)).stiffness, 0.5)


def test_a_broken_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    third_party(monkeypatch, "no_such_package:make")
    with pytest.raises(BadInput, match=r"'half' \(no_such_package:make\) cannot be"):
        make_controller("half")
