"""Experiments: the closed loop of a robot and a controller, and what is built on it.

    loop = Loop(sim, SmartStiffness(), robot.posture("PoseInit").angles)
    run_for(loop, 5.0)  # seconds

    result = run_heat(HeatCfg(preset="document"), Path("runs/heat"))

Names are imported when they are first used, so that `nao-testbed --help` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.arm import ArmCfg, run_arm
    from experiments.fast_forward import FastForwardCfg
    from experiments.heat import run_heat
    from experiments.heat_cfg import HeatCfg
    from experiments.heat_plan import plan_arms
    from experiments.loop import CONTROL_PERIOD, Loop, run_for
    from experiments.presets import Preset, load_preset, preset_names
    from experiments.published import LEG_JOINTS, PUBLISHED, SHUT_DOWN_DEGC
    from experiments.report.page.write import ReportCfg, write_report
    from experiments.results import ArmResult, HeatResult, JointResult
    from experiments.sweep.engines.joblib_engine import JoblibEngine
    from experiments.sweep.load import load_spec
    from experiments.sweep.run import run_sweep
    from experiments.sweep.spec import SweepSpec
    from experiments.sweep.table import Sweep, read_sweep
else:
    _HOMES = {
        "ArmCfg": "experiments.arm",
        "ArmResult": "experiments.results",
        "CONTROL_PERIOD": "experiments.loop",
        "FastForwardCfg": "experiments.fast_forward",
        "HeatCfg": "experiments.heat_cfg",
        "HeatResult": "experiments.results",
        "JoblibEngine": "experiments.sweep.engines.joblib_engine",
        "JointResult": "experiments.results",
        "LEG_JOINTS": "experiments.published",
        "Loop": "experiments.loop",
        "PUBLISHED": "experiments.published",
        "Preset": "experiments.presets",
        "ReportCfg": "experiments.report.page.write",
        "SHUT_DOWN_DEGC": "experiments.published",
        "Sweep": "experiments.sweep.table",
        "SweepSpec": "experiments.sweep.spec",
        "load_preset": "experiments.presets",
        "load_spec": "experiments.sweep.load",
        "plan_arms": "experiments.heat_plan",
        "preset_names": "experiments.presets",
        "read_sweep": "experiments.sweep.table",
        "run_arm": "experiments.arm",
        "run_for": "experiments.loop",
        "run_heat": "experiments.heat",
        "run_sweep": "experiments.sweep.run",
        "write_report": "experiments.report.page.write",
    }

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)

    def __dir__() -> list[str]:
        """Return the public names, for completion in a shell."""
        return sorted(__all__)


__all__ = [
    "CONTROL_PERIOD",
    "LEG_JOINTS",
    "PUBLISHED",
    "SHUT_DOWN_DEGC",
    "ArmCfg",
    "ArmResult",
    "FastForwardCfg",
    "HeatCfg",
    "HeatResult",
    "JoblibEngine",
    "JointResult",
    "Loop",
    "Preset",
    "ReportCfg",
    "Sweep",
    "SweepSpec",
    "load_preset",
    "load_spec",
    "plan_arms",
    "preset_names",
    "read_sweep",
    "run_arm",
    "run_for",
    "run_heat",
    "run_sweep",
    "write_report",
]
