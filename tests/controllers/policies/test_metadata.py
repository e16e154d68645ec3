"""Exporter metadata are read; invalid ones give a one-sentence error."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nao_testbed.controllers.interface.robot_interface import own_gains
from nao_testbed.controllers.policies.layout import FittedLayout, layout_of_metadata
from nao_testbed.controllers.policies.onnx_policy import OnnxPolicy
from nao_testbed.controllers.policies.terms import ObservationVector
from nao_testbed.models import BadInput, Robot, load_robot
from nao_testbed.models.folders import find_robot_folder
from tests.controllers.policies.networks import JOINTS, linear_network

MJLAB = {
    "run_path": "a/b/c",
    "joint_names": ",".join(JOINTS[::-1]),
    "joint_stiffness": "6.000,5.000,4.000,3.000,2.000,1.000",
    "joint_damping": "0.600,0.500,0.400,0.300,0.200,0.100",
    "default_joint_pos": "-0.350,0.700,-0.350,-0.340,0.690,-0.340",
    "command_names": "twist",
    "observation_names": "base_ang_vel,projected_gravity,joint_pos,joint_vel,"
    "actions,command",
    "action_scale": "0.500,0.400,0.300,0.300,0.200,0.100",
}
"""As mjlab 1.6 writes them, for the robot `two_leg`."""


@pytest.fixture(scope="module")
def g1() -> Robot:
    return load_robot(find_robot_folder("g1"))


def holosoma(robot: Robot) -> dict[str, str]:
    """Return metadata as holosoma 0.1.3 writes them."""
    n = len(robot.joints)
    values = {
        "dof_names": [f"{name}_joint" for name in robot.joint_names],
        "kp": [40.0] * n,
        "kd": [2.5] * n,
        "command_ranges": {"lin_vel_x": [-1, 1], "lin_vel_y": [-1, 1]}
        | {"ang_vel_yaw": [-0.5, 0.5], "heading": [-3.14, 3.14]},
    }
    return {key: json.dumps(value) for key, value in values.items()}


def test_mjlab_file_needs_no_layout(two_leg: Robot, tmp_path: Path) -> None:
    path = linear_network(tmp_path / "net.onnx", np.zeros((27, 6)), metadata=MJLAB)
    policy = OnnxPolicy(path)
    gains = policy.reset(two_leg)
    assert gains is not None
    np.testing.assert_array_equal(gains.kp, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    np.testing.assert_array_equal(gains.kd, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    np.testing.assert_array_equal(
        policy.fitted.default, [-0.34, 0.69, -0.34, -0.35, 0.7, -0.35]
    )


def test_holosoma_file_uses_the_shipped_layout(g1: Robot, tmp_path: Path) -> None:
    path = linear_network(
        tmp_path / "net.onnx", np.zeros((100, 29)), metadata=holosoma(g1)
    )
    policy = OnnxPolicy(path, command=(0.5, 0.0, 0.0))
    gains = policy.reset(g1)
    assert gains is not None
    np.testing.assert_array_equal(gains.kp, np.full(29, 40.0))
    np.testing.assert_array_equal(policy.fitted.default, g1.posture("bent").angles)
    fast = OnnxPolicy(path, command=(0.5, 0.0, 0.7))
    with pytest.raises(BadInput, match=r"commands of yaw from -0.5 to 0.5; 0.7 was"):
        fast.reset(g1)


WRONG = [
    ({"joint_stiffness": "1,2,x"}, "joint_stiffness is '1,2,x'"),
    ({"joint_stiffness": "1,2,nan,4,5,6"}, "kp.2 is nan"),
    ({"joint_names": "left_hip"}, "default has 6 values for 1 joints"),
    ({"joint_names": ",".join(["left_hip"] * 6)}, "'left_hip' is listed twice"),
    ({"joint_names": "waist"}, "joint 'waist' is not in robot 'two_leg'"),
    ({"observation_names": "base_lin_vel,actions"}, "do not give observation term 'ba"),
    ({"observation_names": ""}, "do not give observation term ''"),
    ({"dof_names": "['a']"}, "dof_names is .*, which is not JSON"),
    ({"dof_names": "[1, 2]"}, "joints.0 is 1: "),
    ({"dof_names": "[]"}, "joints is "),
    ({"dof_names": '["left_hip"]', "kp": "{}"}, "kp is {}"),
    ({"dof_names": '["left_hip"]', "command_ranges": "{}"}, "command_ranges.0 is None"),
]


@pytest.mark.parametrize(("changed", "said"), WRONG)
def test_invalid_metadata_give_a_one_sentence_error(
    changed: Mapping[str, str], said: str, two_leg: Robot
) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        fit(MJLAB | dict(changed), two_leg)
    assert "\n" not in str(caught.value)


def fit(metadata: Mapping[str, str], robot: Robot) -> None:
    layout = layout_of_metadata(metadata, robot, "policy net.onnx")
    fitted = FittedLayout.of(layout, robot, own_gains(robot), "policy net.onnx")
    ObservationVector(fitted, robot, np.zeros(3), "policy net.onnx")


KEYS = (*MJLAB, "dof_names", "kp", "kd", "command_ranges")
json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.sampled_from(JOINTS),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
texts = (
    st.text()
    | st.sampled_from([*MJLAB.values(), "[" * 5000, "1e999", "0.1", '["left_hip"]'])
    | json_values.map(json.dumps)
    | st.lists(st.floats() | st.sampled_from([*JOINTS, "actions"]), max_size=7).map(
        lambda values: ",".join(map(str, values))
    )
)
generated = st.dictionaries(st.sampled_from(KEYS), texts, max_size=6)


@pytest.mark.slow
@settings(max_examples=1000)
@given(changed=generated, removed=st.sets(st.sampled_from(KEYS), max_size=3))
def test_any_metadata_are_read_or_rejected_in_one_sentence(
    changed: dict[str, str], removed: set[str]
) -> None:
    robot = load_robot(Path(__file__).parents[2] / "data" / "two_leg")
    metadata = {k: v for k, v in (MJLAB | changed).items() if k not in removed}
    try:
        fit(metadata, robot)
    except BadInput as error:
        text = str(error)
        assert text
        assert "\n" not in text
        assert len(text) < 1000
