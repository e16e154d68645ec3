"""Experiments with the closed loop of a robot and a controller.

    loop = Loop(sim, SmartStiffness(), robot.posture("PoseInit").angles)
    run_for(loop, 5.0)  # seconds

    result = run_heat(HeatCfg(preset="document"), Path("runs/heat"))

Names are imported on first use, from the modules in `__init__.pyi`, so that
`nao-testbed --help` is fast.
"""

import gc
import sys
from pathlib import Path

import lazy_loader

IS_COMMAND = Path(sys.argv[0]).stem == "nao-testbed"
"""True in the process of the command, in which no other code runs."""
if IS_COMMAND:
    # While modules are imported, nearly nothing is garbage.
    gc.set_threshold(50_000, 20, 20)
    from nao_testbed.experiments.common.signals import end_while_loading

    end_while_loading()
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
