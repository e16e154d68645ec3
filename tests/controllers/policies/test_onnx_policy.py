"""ONNX and Python policies: set-points against a reference, and input errors."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from nao_testbed.controllers.interface.robot_interface import Observation, own_gains
from nao_testbed.controllers.policies.onnx_policy import OnnxPolicy
from nao_testbed.controllers.policies.text import policy_file, short_names
from nao_testbed.controllers.registry import check_controllers, make_controller
from nao_testbed.models import BadInput, Robot
from tests.controllers.policies.networks import JOINTS, linear_network
from tests.controllers.policies.python_policy import HOLD

LAYOUT = """\
joints: [right_ankle, left_hip_joint, left_knee]
default: [0.1, -0.2, 0.3]
action_scale: [0.5, 0.25, 1.0]
action_clip: 2.0
kp: [7, 8, 9]
kd: [0.7, 0.8, 0.9]
observation:
  - {term: last_action}
  - {term: angular_velocity, scale: 0.25}
  - {term: command_yaw}
  - {term: command_xy}
  - {term: phase_cos}
  - {term: joint_position}
  - {term: joint_velocity, scale: [0.1, 0.2, 0.3], history: 2}
  - {term: gravity}
  - {term: phase_sin}
  - {term: command}
"""
SIZE = 3 + 3 + 1 + 2 + 2 + 3 + 6 + 3 + 2 + 3


def an_observation(robot: Robot, seed: int, time_s: float = 0.0) -> Observation:
    rng = np.random.default_rng(seed)
    n, m = len(robot.joints), len(robot.motors)
    q = robot.posture("Stand").angles + 0.1 * rng.normal(size=n)
    gravity = rng.normal(size=3)
    return Observation(
        time_s=time_s,
        q=q,
        v=rng.normal(size=n),
        target=q,
        stiffness=np.ones(n),
        temperature=np.full(m, 30.0),
        current=np.zeros(m),
        fsr=np.zeros(len(robot.force_sensors)),
        gyro=rng.normal(size=3),
        accelerometer=np.array([0.0, 0.0, 9.81]),
        gravity=gravity / np.linalg.norm(gravity),
    )


def a_policy(folder: Path, **network: object) -> OnnxPolicy:
    weights = np.random.default_rng(1).normal(size=(SIZE, 3)) / 3.0
    folder.joinpath("layout.yaml").write_text(LAYOUT, encoding="utf-8")
    given = {"bias": [0.1, 0.2, 0.3]} | network
    path = linear_network(folder / "net.onnx", weights, **given)  # type: ignore[arg-type]
    return OnnxPolicy(path, folder / "layout.yaml", (0.4, -0.1, 0.2))


def reference(
    robot: Robot, seen: list[Observation]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the last set-points and observation vector, computed by hand."""
    W = np.random.default_rng(1).normal(size=(SIZE, 3)) / 3.0
    index = [robot.joint_index(n) for n in ("right_ankle", "left_hip", "left_knee")]
    default, action, x = np.array([0.1, -0.2, 0.3]), np.zeros(3), np.zeros(SIZE)
    v_scale = np.array([0.1, 0.2, 0.3])
    for k, one in enumerate(seen):
        before = seen[max(k - 1, 0)]
        phase = np.array([0.0, np.pi]) + 2.0 * np.pi * 0.02 * k
        x = np.concatenate(
            [
                action,
                0.25 * one.gyro,
                [0.2],
                [0.4, -0.1],
                np.cos(phase),
                one.q[index] - default,
                v_scale * before.v[index],
                v_scale * one.v[index],
                one.gravity,
                np.sin(phase),
                [0.4, -0.1, 0.2],
            ]
        )
        action = np.clip(x @ W + [0.1, 0.2, 0.3], -2.0, 2.0)
    target = robot.posture("Stand").angles.copy()
    target[index] = default + np.array([0.5, 0.25, 1.0]) * action
    return target, x


def test_set_points_equal_a_reference_evaluation(
    two_leg: Robot, tmp_path: Path
) -> None:
    policy = a_policy(tmp_path)
    gains = policy.reset(two_leg)
    assert gains is not None
    own = own_gains(two_leg)
    index = [two_leg.joint_index(n) for n in ("right_ankle", "left_hip", "left_knee")]
    np.testing.assert_array_equal(gains.kp[index], [7.0, 8.0, 9.0])
    np.testing.assert_array_equal(gains.kd[index], [0.7, 0.8, 0.9])
    others = np.setdiff1d(np.arange(6), index)
    np.testing.assert_array_equal(gains.kp[others], own.kp[others])
    seen = [an_observation(two_leg, k, 0.02 * k) for k in range(60)]
    for k, one in enumerate(seen):
        target = policy.step(one)
        wanted, x = reference(two_leg, seen[: k + 1])
        np.testing.assert_allclose(policy.observation[0], x, atol=1e-6)
        np.testing.assert_allclose(target, wanted, atol=1e-6)  # rad; float32 inside


def test_reset_restarts_the_policy(two_leg: Robot, tmp_path: Path) -> None:
    policy = a_policy(tmp_path)
    policy.reset(two_leg)
    first = policy.step(an_observation(two_leg, 0)).copy()
    policy.step(an_observation(two_leg, 1))
    policy.reset(two_leg)
    np.testing.assert_array_equal(policy.step(an_observation(two_leg, 0)), first)


def test_phase_is_constant_while_the_command_is_zero(
    two_leg: Robot, tmp_path: Path
) -> None:
    a_policy(tmp_path)
    policy = OnnxPolicy(tmp_path / "net.onnx", tmp_path / "layout.yaml")
    policy.reset(two_leg)
    for k in range(3):
        policy.step(an_observation(two_leg, k))
        np.testing.assert_array_equal(policy.observation[0, 9:11], [-1.0, -1.0])


BAD_LAYOUTS = {
    "elbow": ("left_hip_joint", "left_elbow", "joint 'left_elbow' is not in robot"),
    "twice": ("left_hip_joint", "left_knee", "joint 'left_knee' is listed twice"),
    "no gain": ("kd: [0.7, 0.8, 0.9]\n", "", "lack kd of its joints"),
    "gains": ("[7, 8, 9]", "[7, 8]", "kp has 2 values for 3 joints"),
    "negative": ("[7, 8, 9]", "[7, 8, -9]", "kp.2 is -9"),
    "scale": ("[0.5, 0.25, 1.0]", "[0.5]", "action_scale has 1 values for 3 joints"),
    "posture": ("[0.1, -0.2, 0.3]", "Sit", "Posture 'Sit' is not in"),
    "term": ("term: gravity", "term: height", "observation.7.term is 'height'"),
    "size": ("history: 2", "history: 3", f"has {SIZE} elements, and .* {SIZE + 3};"),
    "term scale": ("[0.1, 0.2, 0.3]", "[0.1, 0.2]", "scale of term 'joint_velocity' "),
    "key": ("action_clip", "action_clop", "Did you mean 'action_clip'"),
    "no terms": (LAYOUT[LAYOUT.index("observation") :], "", "the terms of its"),
    "no joints": ("joints: [right_ankle, left_hip_joint, left_knee]\n", "", "names of"),
    "no default": ("default: [0.1, -0.2, 0.3]\n", "", "lack the default angles"),
}


@pytest.mark.parametrize("case", BAD_LAYOUTS)
def test_invalid_layout_gives_a_one_sentence_error(
    case: str, two_leg: Robot, tmp_path: Path
) -> None:
    old, new, said = BAD_LAYOUTS[case]
    a_policy(tmp_path)
    wrong = LAYOUT.replace(old, new)
    assert wrong != LAYOUT
    tmp_path.joinpath("layout.yaml").write_text(wrong, encoding="utf-8")
    with pytest.raises(BadInput, match=said) as caught:
        OnnxPolicy(tmp_path / "net.onnx", tmp_path / "layout.yaml").reset(two_leg)
    assert "\n" not in str(caught.value)


BAD_FILES = {
    "input": ({"n_inputs": SIZE - 1}, "cannot be loaded|has 29 elements"),
    "opset": ({"opset": 99}, r"cannot be loaded by onnxruntime [\d.]+: "),
    "type": ({"kind": 11}, "cannot be loaded|tensor\\(double\\)"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_invalid_file_gives_a_one_sentence_error(
    case: str, two_leg: Robot, tmp_path: Path
) -> None:
    network, said = BAD_FILES[case]
    with pytest.raises(BadInput, match=said) as caught:
        a_policy(tmp_path, **network).reset(two_leg)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"not a network", b"\x08\x07" * 100])
def test_invalid_network_file_gives_a_one_sentence_error(
    content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"policy net.onnx cannot be loaded") as caught:
        OnnxPolicy(path)
    assert "\n" not in str(caught.value)


def test_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none.onnx is not a file"):
        OnnxPolicy(tmp_path / "none.onnx")


def test_nonfinite_action_is_reported(two_leg: Robot, tmp_path: Path) -> None:
    policy = a_policy(tmp_path, bias=[0.0, np.nan, 0.0])
    policy.reset(two_leg)
    with pytest.raises(
        BadInput, match=r"action for left_hip_joint is nan at t = 0.00 s"
    ):
        policy.step(an_observation(two_leg, 0))


def test_policy_of_another_robot_is_rejected_before_the_run(
    two_leg: Robot, nao: Robot, tmp_path: Path
) -> None:
    a_policy(tmp_path)
    text = f"policy:{tmp_path / 'net.onnx'}+layout={tmp_path / 'layout.yaml'}"
    check_controllers([text], two_leg)
    with pytest.raises(BadInput, match="joint 'right_ankle' is not in robot 'nao'"):
        check_controllers([text], nao)


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("+command=1/2", "is not three numbers"),
        ("+command=1/2/x", "is not three numbers"),
        ("+command=nan/0/0", "is not within"),
        ("+command=0/0/0+command=0/0/0", "gives an option twice"),
        ("+layout=none.yaml", "none.yaml"),
    ],
)
def test_invalid_option_is_rejected(rest: str, said: str, tmp_path: Path) -> None:
    a_policy(tmp_path)
    with pytest.raises(BadInput, match=said):
        make_controller(f"policy:{tmp_path / 'net.onnx'}{rest}")


@pytest.mark.parametrize(
    ("text", "file", "short"),
    [
        ("policy:runs/a+b.onnx", "runs/a+b.onnx", "a+b"),
        (
            "policy:a+b.onnx+command=1/0/0+layout=l.yaml",
            "a+b.onnx",
            "a+b+command=1/0/0+layout=l.yaml",
        ),
        ("policy:a+b.py:Walk", "a+b.py", "a+b"),
    ],
)
def test_file_name_may_contain_a_plus_sign(text: str, file: str, short: str) -> None:
    assert policy_file(text) == file
    assert short_names([text]) == [short]


def test_python_policy_runs_at_its_own_rate(two_leg: Robot, tmp_path: Path) -> None:
    path = tmp_path / "hold.py"
    path.write_text(HOLD, encoding="utf-8")
    controller = make_controller(f"policy:{path}:Hold")
    controller.reset(two_leg)
    start = two_leg.posture("Stand").angles
    for k, n in enumerate([1, 1, 2, 2, 3, 3]):
        limits = controller.step(an_observation(two_leg, k, 0.02 * k))
        assert limits.target is not None
        np.testing.assert_allclose(limits.target, start + 0.01 * n)
        assert limits.gains is not None
        assert limits.gains.kp[0] == 30.0
    late = controller.step(an_observation(two_leg, 9, 60.0)).target  # fast-forwarded
    assert late is not None
    np.testing.assert_allclose(late, start + 0.04)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HOLD.replace("return self.q + 0.01 * self.n", "return None"), "returned None"),
        (HOLD.replace("self.q + 0.01", "float('inf') * self.q + 0.01"), "set-point of"),
        (HOLD.replace("30.0", "-30.0"), "kp of left_hip is -30"),
        (HOLD.replace("class Hold", "class Fold"), "has 0 classes Hold"),
        ("import no_such_module", "ModuleNotFoundError"),
    ],
)
def test_invalid_python_policy_gives_a_one_sentence_error(
    text: str, said: str, two_leg: Robot, tmp_path: Path
) -> None:
    path = tmp_path / "hold.py"
    path.write_text(text, encoding="utf-8")

    def run() -> None:
        controller = make_controller(f"policy:{path}:Hold")
        controller.reset(two_leg)
        controller.step(an_observation(two_leg, 0))

    with pytest.raises(BadInput, match=re.escape(said)) as caught:
        run()
    assert "\n" not in str(caught.value)


def test_balancing_network_has_the_joint_names_of_the_robot(
    two_leg: Robot,
) -> None:
    assert two_leg.joint_names == JOINTS
