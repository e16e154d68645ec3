"""Creation of the controller of a policy from its text.

policy:FILE.onnx
policy:FILE.onnx+command=0.3/0/0+layout=FILE.yaml
policy:FILE.onnx+cool=nudge, policy:FILE.onnx+cool=stance
policy:FILE.py:CLASS
"""

import importlib.util
import re
from pathlib import Path

from nao_testbed.controllers.policies.onnx_policy import STAND, OnnxPolicy
from nao_testbed.controllers.policies.policy import Policy, PolicyController
from nao_testbed.controllers.policies.text import PREFIX, split_policy
from nao_testbed.models import BadInput
from nao_testbed.models.errors import FOREIGN_ERRORS
from nao_testbed.models.values import number_of, short


def make_policy_controller(argument: str | None) -> PolicyController:
    """Create the controller from a text without the prefix `policy:`.

    Raises:
        BadInput: the file or an option cannot be used.
    """
    if not argument:
        raise BadInput("controller 'policy' needs a file, as in policy:FILE.onnx.")
    file, rest = split_policy(argument)
    options = dict(one.split("=", 1) for one in rest)
    if len(options) < len(rest):
        raise BadInput(f"policy {argument!r} gives an option twice; give it once.")
    name = f"{PREFIX}{argument}"
    if re.search(r"\.py(:\w+)?$", file):
        if options:
            raise BadInput(
                f"policy {file!r} is written in Python and takes no "
                f"{options.popitem()[0]}; set it in the class."
            )
        return PolicyController(_python_policy(file), name)
    cool, layout = options.get("cool"), options.get("layout")
    if cool not in {"nudge", "stance", None}:
        raise BadInput(f"cool is {short(cool)}; give cool=nudge or cool=stance.")
    command = _command(options["command"]) if "command" in options else STAND
    policy = OnnxPolicy(Path(file), Path(layout) if layout else None, command)
    if cool is None:
        return PolicyController(policy, name)
    from nao_testbed.controllers.policies.cool import CooledPolicy  # noqa: PLC0415  # heavy

    return CooledPolicy(policy, name, cool)


def _command(text: str) -> tuple[float, float, float]:
    parts = re.split("[/,]", text)
    try:
        x, y, yaw = (number_of(part) for part in parts)
    except ValueError as error:
        raise BadInput(
            f"command {short(','.join(parts))} is not three numbers; give x, y in m/s "
            "and yaw in rad/s, as in 0.3,0,0."
        ) from error
    if not all(abs(value) <= 10.0 for value in (x, y, yaw)):  # false for NaN
        raise BadInput(f"command {short(text)} is not within ±10; give a velocity.")
    return x, y, yaw


def _python_policy(text: str) -> Policy:
    """Return an object of a class in a Python file."""
    file, _, name = text.partition(".py:")
    path = Path(file if name == "" else f"{file}.py")
    if not path.is_file():
        raise BadInput(f"policy {path} is not a file; give one, as in FILE.py:CLASS.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None  # since the suffix is .py
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        kinds = [
            kind
            for kind in vars(module).values()
            if isinstance(kind, type)
            and kind.__module__ == path.stem
            and all(hasattr(kind, one) for one in ("reset", "step", "period_s"))
            and name in {"", kind.__name__}
        ]
        made = kinds[0]() if len(kinds) == 1 else None
    except FOREIGN_ERRORS as error:  # any error of the user's module
        raise BadInput(
            f"policy {path} cannot be loaded: {type(error).__name__}: {error}."
        ) from error
    if made is None:
        raise BadInput(
            f"policy {path} has {len(kinds)} classes {name or 'with'} reset, step, "
            "period_s and name; give one, as in FILE.py:CLASS."
        )
    return made  # type: ignore[no-any-return]  # of a foreign module
