"""Controller switch, user tuning, and the product's published rules."""

import dataclasses

import numpy as np
import pytest

from nao_testbed.controllers import flag_names
from nao_testbed.controllers.stiffness import PostureTuning, ProductPolicy
from nao_testbed.models import BadInput, Robot, UnknownName
from tests.controllers.helpers import Observe, report_of, smart

DT = 0.02


@pytest.mark.requirement("ST-20")
def test_controller_can_be_switched_off_and_on_during_a_run(
    nao: Robot, observe: Observe
) -> None:
    controller = smart(nao)
    on = controller.step(observe(nao, time_s=0.0)).stiffness
    controller.enabled = False
    off = controller.step(observe(nao, time_s=DT)).stiffness
    assert off.tolist() == [1.0] * 26
    assert flag_names(report_of(controller).flags) == ("DISABLED",)
    controller.enabled = True
    again = controller.step(observe(nao, time_s=2 * DT)).stiffness
    np.testing.assert_array_equal(again, on)
    assert on.max() < 0.6


@pytest.mark.requirement("ST-20")
def test_user_stiffness_applies_when_switched_off(nao: Robot, observe: Observe) -> None:
    controller = smart(nao)
    controller.enabled = False
    controller.user_stiffness = 0.7
    assert controller.step(observe(nao)).stiffness.tolist() == [0.7] * 26
    each = np.linspace(0.0, 1.0, 26)
    controller.user_stiffness = each
    np.testing.assert_array_equal(controller.step(observe(nao)).stiffness, each)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), np.full(26, 2.0)])
def test_user_stiffness_out_of_range_is_rejected(nao: Robot, value: float) -> None:
    with pytest.raises(BadInput, match="give values from 0 to 1"):
        smart(nao).user_stiffness = value


@pytest.mark.requirement("ST-20")
def test_tuning_affects_only_its_posture(nao: Robot, observe: Observe) -> None:
    controller = smart(nao)
    plain = controller.step(observe(nao)).stiffness
    crouch = controller.step(observe(nao, "Crouch")).stiffness
    controller.tune("PoseInit", PostureTuning(extra=0.1, minimum=0.4, maximum=0.5))
    tuned = controller.step(observe(nao)).stiffness
    np.testing.assert_allclose(tuned, np.clip(plain + 0.1, 0.4, 0.5))
    np.testing.assert_array_equal(
        controller.step(observe(nao, "Crouch")).stiffness, crouch
    )
    controller.tune("PoseInit", None)
    np.testing.assert_array_equal(controller.step(observe(nao)).stiffness, plain)


@pytest.mark.requirement("ST-20")
def test_tuning_rejects_unknown_postures(nao: Robot) -> None:
    with pytest.raises(UnknownName, match=r"Posture 'Crouched' .*'Crouch'"):
        smart(nao).tune("Crouched", PostureTuning())


@pytest.mark.requirement("ST-20")
def test_product_user_value_caps_the_computed_one(nao: Robot, observe: Observe) -> None:
    plain, product = smart(nao), smart(nao, policy=ProductPolicy())
    computed = plain.step(observe(nao)).stiffness
    product.user_stiffness = 0.3
    applied = product.step(observe(nao)).stiffness
    np.testing.assert_array_equal(applied, np.minimum(computed, 0.3))
    assert (computed > 0.3).any()
    assert (computed < 0.3).any()


@pytest.mark.requirement("ST-20")
def test_product_moving_joint_gives_full_user_stiffness(
    nao: Robot, observe: Observe
) -> None:
    product = smart(nao, policy=ProductPolicy(moving_rad_s=0.15, hold_s=0.1))
    still = product.step(observe(nao)).stiffness
    v = np.zeros(26)
    v[3] = -0.5
    moving = product.step(observe(nao, time_s=DT, v=v)).stiffness
    assert moving.tolist() == [1.0] * 26
    assert flag_names(report_of(product).flags) == ("JOINT_MOVING",)
    held = product.step(observe(nao, time_s=0.1)).stiffness
    assert held.tolist() == [1.0] * 26, "for hold_s longer"
    rested = product.step(observe(nao, time_s=0.2)).stiffness
    np.testing.assert_array_equal(rested, still)


@pytest.mark.requirement("ST-20")
def test_product_new_set_point_counts_as_motion(nao: Robot, observe: Observe) -> None:
    product = smart(nao, policy=ProductPolicy())
    product.step(observe(nao))
    target = nao.posture("PoseInit").angles.copy()
    target[5] += 0.01
    product.step(observe(nao, time_s=DT, target=target))
    assert flag_names(report_of(product).flags) == ("JOINT_MOVING",)


@pytest.mark.requirement("ST-20")
def test_product_older_text_releases_only_the_moving_joint(
    nao: Robot, observe: Observe
) -> None:
    policy = ProductPolicy(moving_rad_s=0.15, while_moving="joint")
    product = smart(nao, policy=policy)
    still = product.step(observe(nao)).stiffness
    v = np.zeros(26)
    v[3] = 0.5
    moving = product.step(observe(nao, time_s=DT, v=v)).stiffness
    assert moving[3] == 1.0
    np.testing.assert_array_equal(np.delete(moving, 3), np.delete(still, 3))


def test_encoder_noise_is_not_motion(nao: Robot, observe: Observe) -> None:
    """One encoder step in a 20 ms cycle is 0.077 rad/s."""
    product = smart(nao, policy=ProductPolicy(moving_rad_s=0.15))
    product.step(observe(nao, v=np.full(26, 0.077)))
    assert report_of(product).flags == 0


@pytest.mark.requirement("ST-20")
def test_product_joint_yielding_at_its_limit_is_not_moving(
    nao: Robot, observe: Observe
) -> None:
    """Full stiffness would push it back, and the two states would alternate."""
    product = smart(nao, policy=ProductPolicy())
    still = product.step(observe(nao)).stiffness
    yielding = product.step(observe(nao, time_s=DT, v=np.full(26, 0.5))).stiffness
    np.testing.assert_allclose(yielding, still)


def test_es2659053_policy_is_the_same_in_motion(nao: Robot, observe: Observe) -> None:
    controller = smart(nao)
    moving = observe(nao, v=np.full(26, 1.0))
    still = dataclasses.replace(moving, v=np.zeros(26))
    np.testing.assert_array_equal(
        controller.step(moving).stiffness, controller.step(still).stiffness
    )
