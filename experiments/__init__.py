"""Experiments: the closed loop of a robot and a controller, and what is built on it.

    loop = Loop(sim, SmartStiffness(), robot.posture("PoseInit").angles)
    run_for(loop, 5.0)  # seconds

    result = run_heat(HeatCfg(preset="document"), Path("runs/heat"))

Names are imported when they are first used, so that `nao-testbed --help` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.heat.cfg import HeatCfg
    from experiments.heat.plan import plan_arms
    from experiments.heat.run import run_heat
    from experiments.loop import CONTROL_PERIOD, Loop, run_for
    from experiments.presets import Preset, load_preset, preset_names
    from experiments.report.page.write import ReportCfg, write_report
    from experiments.standing.arm import ArmCfg, run_arm
    from experiments.standing.fast_forward import FastForwardCfg
    from experiments.standing.published import LEG_JOINTS, PUBLISHED, SHUT_DOWN_DEGC
    from experiments.standing.results import ArmResult, HeatResult, JointResult
    from experiments.sweep.engines.joblib_engine import JoblibEngine
    from experiments.sweep.load import load_spec
    from experiments.sweep.run import run_sweep
    from experiments.sweep.spec import SweepSpec
    from experiments.sweep.table import Sweep, read_sweep
else:
    _HOMES = {
        "ArmCfg": "experiments.standing.arm",
        "ArmResult": "experiments.standing.results",
        "CONTROL_PERIOD": "experiments.loop",
        "FastForwardCfg": "experiments.standing.fast_forward",
        "HeatCfg": "experiments.heat.cfg",
        "HeatResult": "experiments.standing.results",
        "JoblibEngine": "experiments.sweep.engines.joblib_engine",
        "JointResult": "experiments.standing.results",
        "LEG_JOINTS": "experiments.standing.published",
        "Loop": "experiments.loop",
        "PUBLISHED": "experiments.standing.published",
        "Preset": "experiments.presets",
        "ReportCfg": "experiments.report.page.write",
        "SHUT_DOWN_DEGC": "experiments.standing.published",
        "Sweep": "experiments.sweep.table",
        "SweepSpec": "experiments.sweep.spec",
        "load_preset": "experiments.presets",
        "load_spec": "experiments.sweep.load",
        "plan_arms": "experiments.heat.plan",
        "preset_names": "experiments.presets",
        "read_sweep": "experiments.sweep.table",
        "run_arm": "experiments.standing.arm",
        "run_for": "experiments.loop",
        "run_heat": "experiments.heat.run",
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
