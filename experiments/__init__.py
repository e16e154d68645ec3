"""Experiments: the closed loop of a robot and a controller, and what is built on it.

    loop = Loop(sim, SmartStiffness(), robot.posture("PoseInit").angles)
    run_for(loop, 5.0)  # seconds

    result = run_heat(HeatCfg(preset="document"), Path("runs/heat"))

Names are imported when they are first used, from where `__init__.pyi` says, so that
`nao-testbed --help` is quick.
"""

import sys
from pathlib import Path

import lazy_loader

if Path(sys.argv[0]).stem == "nao-testbed":  # the command, which loads for a while
    from nao_testbed.experiments.common.signals import end_while_loading

    end_while_loading()
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
