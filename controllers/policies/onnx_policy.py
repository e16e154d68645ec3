"""Policy in an ONNX file, run by onnxruntime on one thread.

action = network(observation vector)
set-point of joint i = default_i + scale_i · clip(action_i)
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.interface.robot_interface import (
    Observation,
    ServoGains,
    own_gains,
)
from nao_testbed.controllers.policies.layout import (
    FittedLayout,
    PolicyLayout,
    layout_of_metadata,
    read_layout,
)
from nao_testbed.controllers.policies.terms import ObservationVector
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.errors import ExtraMissing
from nao_testbed.models.values import FloatArray, short

STAND = (0.0, 0.0, 0.0)
COMMANDS = ("x", "y", "yaw")


class OnnxPolicy:
    """ONNX network as a policy; `reset` before the first `step`."""

    def __init__(
        self,
        path: Path,
        layout: Path | None = None,
        command: tuple[float, float, float] = STAND,
    ) -> None:
        """Load a network.

        Args:
            path: ONNX file.
            layout: YAML file with the values missing from the metadata; see
                `PolicyLayout`.
            command: commanded velocity: x, y in m/s, yaw in rad/s.

        Raises:
            ExtraMissing: onnxruntime is not installed.
            BadInput: the file cannot be read, or is not a network from one vector to
                another.
        """
        self.name = path.stem
        self._where = f"policy {path.name}"
        self._given = PolicyLayout() if layout is None else read_layout(layout)
        self.period_s = self._given.period_s
        """Time between two steps, in s."""
        self._command = np.array(command)
        self._session = _session(path, self._where)
        self._input, self._n_inputs = _only(
            self._session.get_inputs(), "input", self._where
        )
        self._output, self._n_actions = _only(
            self._session.get_outputs(), "output", self._where
        )
        self._metadata = dict(self._session.get_modelmeta().custom_metadata_map)

    def reset(self, robot: Robot) -> ServoGains | None:
        """Fit the network to a robot.

        Raises:
            BadInput: joints, sizes or terms do not match.
        """
        where = self._where
        layout = self._given.over(layout_of_metadata(self._metadata, robot, where))
        fitted = FittedLayout.of(layout, robot, own_gains(robot), where)
        vector = ObservationVector(fitted, robot, self._command, where)
        if self._n_inputs not in {vector.values.size, None}:
            raise BadInput(
                f"{where}: its input has {self._n_inputs} elements, and the terms of "
                f"its observation have {vector.values.size}; check "
                f"{', '.join(one.term for one in fitted.terms)}."
            )
        if self._n_actions is not None:
            self._check_size(self._n_actions, len(fitted.index))
        ranges = layout.command_ranges or ()
        for name, value, (low, high) in zip(
            COMMANDS, self._command, ranges, strict=False
        ):
            if not low <= value <= high:
                raise BadInput(
                    f"{where} was trained for commands of {name} from {low:g} to "
                    f"{high:g}; {value:g} was given."
                )
        self.fitted, self._vector = fitted, vector
        return fitted.gains

    @property
    def observation(self) -> NDArray[np.float32]:
        """(1, n) input of the last step; a copy."""
        return self._vector.values.copy()

    def step(self, observation: Observation) -> FloatArray:
        """Return the set-points until the next step, (n_joints,) in rad; a copy.

        Raises:
            BadInput: an action is not finite, or the network cannot be evaluated.
        """
        vector = self._vector
        vector.fill(observation)
        try:
            (found,) = self._session.run([self._output], {self._input: vector.values})
        except Exception as error:  # any error of onnxruntime
            raise BadInput(f"{self._where}: {_first_line(error)}") from error
        action = np.asarray(found, dtype=np.float64).reshape(-1)
        self._check_size(action.size, vector.last_action.size)
        is_finite = np.isfinite(action)
        if not is_finite.all():
            k = int(is_finite.argmin())
            joint = (self.fitted.layout.joints or ())[k]
            raise BadInput(
                f"{self._where}: its action for {joint} is {action[k]} at t = "
                f"{observation.time_s:.2f} s; actions must be finite."
            )
        return vector.act(action)

    def _check_size(self, n_actions: int, n_joints: int) -> None:
        if n_actions != n_joints:
            raise BadInput(
                f"{self._where}: its output has {n_actions} elements for {n_joints} "
                "joints; give one action per joint."
            )


def _session(path: Path, where: str) -> Any:
    try:
        import onnxruntime  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ExtraMissing(where, "onnxruntime", "policies") from error
    if not path.is_file():
        raise BadInput(f"policy {path} is not a file; give an ONNX file.")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # any error of onnxruntime
        raise BadInput(
            f"{where} cannot be loaded by onnxruntime {onnxruntime.__version__}: "
            f"{_first_line(error)}"
        ) from error


def _first_line(error: BaseException) -> str:
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return f"{line.rstrip('.')}."


def _only(values: list[Any], kind: str, where: str) -> tuple[str, int | None]:
    """Return name and size of the only input or output of a network.

    Raises:
        BadInput: there are several, or the only one is not a vector of float32.
    """
    if len(values) != 1:
        names = ", ".join(value.name for value in values)
        raise BadInput(
            f"{where} has {len(values)} {kind}s ({names}); only policies with one "
            f"{kind} are supported."
        )
    (value,) = values
    shape = list(value.shape)
    is_vector = len(shape) == 2 and (not isinstance(shape[0], int) or shape[0] == 1)
    if value.type != "tensor(float)" or not is_vector:
        raise BadInput(
            f"{where}: its {kind} {short(value.name)} is {value.type} of shape "
            f"{shape}; only float32 of shape [1, n] is supported."
        )
    return value.name, shape[1] if isinstance(shape[1], int) else None
