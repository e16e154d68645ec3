"""Small ONNX networks made by onnx.helper, without a download."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="needs the extra policies' onnx")
pytest.importorskip("onnxruntime", reason="needs the extra policies")


def linear_network(
    path: Path,
    weights: Any,
    bias: Any = None,
    metadata: Mapping[str, str] | None = None,
    *,
    n_inputs: int | str | None = None,
    opset: int = 13,
    kind: int = 1,
) -> Path:
    """Write y = x W + b, and return the path.

    Args:
        path: of the file.
        weights: (n_inputs, n_actions)
        bias: (n_actions,), none by default.
        metadata: key to text.
        n_inputs: declared input size; that of `weights` by default.
        opset: version of the operators.
        kind: element type of the input; 1: float32.
    """
    helper = onnx.helper
    W = np.asarray(weights, dtype=np.float32)
    b = np.zeros(W.shape[1], np.float32) if bias is None else np.float32(bias)
    size = W.shape[0] if n_inputs is None else n_inputs
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["obs", "W", "b"], ["action"])],
        "linear",
        [helper.make_tensor_value_info("obs", kind, [1, size])],
        [helper.make_tensor_value_info("action", 1, [1, W.shape[1]])],
        [onnx.numpy_helper.from_array(W, "W"), onnx.numpy_helper.from_array(b, "b")],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7
    )
    helper.set_model_props(model, dict(metadata or {}))
    path.write_bytes(model.SerializeToString())
    return path


JOINTS = (
    "left_hip",
    "left_knee",
    "left_ankle",
    "right_hip",
    "right_knee",
    "right_ankle",
)
LAYOUT = """\
joints: [left_hip, left_knee, left_ankle, right_hip, right_knee, right_ankle]
default: Stand
kp: [60, 60, {kp}, 60, 60, {kp}]
kd: [0.6, 0.6, 0.15, 0.6, 0.6, 0.15]
observation:
  - {{term: gravity}}
  - {{term: angular_velocity}}
"""
"""Layout of the balancing network for `two_leg`; uncontrolled, the ankles give way."""


def balance(folder: Path, gain: float = 4.0, rate: float = 0.5, kp: float = 1.0) -> str:
    """Write a network that turns the ankles against the lean; return its spec."""
    W = np.zeros((6, 6))
    W[0, [2, 5]] = gain
    W[4, [2, 5]] = rate
    folder.joinpath("balance.yaml").write_text(LAYOUT.format(kp=kp), encoding="utf-8")
    file = linear_network(folder / "balance.onnx", W)
    return f"{file}+layout={folder / 'balance.yaml'}"
