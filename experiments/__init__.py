"""Experiments: the closed loop of a robot and a controller, and what is built on it.

    loop = Loop(sim, SmartStiffness(), robot.posture("PoseInit").angles)
    run_for(loop, 5.0)  # seconds

    result = run_heat(HeatCfg(preset="document"), Path("runs/heat"))

Names are imported when they are first used, from where `__init__.pyi` says, so that
`nao-testbed --help` is quick.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import lazy_loader

IS_COMMAND = Path(sys.argv[0]).name == "nao-testbed"
HERE = Path(__file__).resolve().parents[1]


def _refuse_shadows() -> None:
    """Say so where a package of somebody else's stands in the place of one of ours.

    Raises:
        ImportError: one does; the command `nao-testbed` ends with the sentence alone.
    """
    for name in ("models", "controllers", "sim"):
        spec = find_spec(name)
        found = Path(spec.origin).resolve() if spec and spec.origin else None
        if found == HERE / name / "__init__.py":
            continue
        problem = (
            f"the package `{name}` of nao-testbed is hidden by {found or 'another one'}"
            ", which comes first on Python's path; rename that one, start from another "
            "folder, or take it off PYTHONPATH."
        )
        if IS_COMMAND:
            print(f"error: {problem}", file=sys.stderr)
            sys.exit(2)
        raise ImportError(problem)


_refuse_shadows()
if IS_COMMAND:
    from experiments.common.signals import end_while_loading  # it imports `models`

    end_while_loading()
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
