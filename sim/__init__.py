"""The world: a simulated robot behind the robot interface, and its recordings.

    robot = load_robot()
    sim = SimulatedRobot(robot, SimulationCfg(), "PoseInit")
    sim.step(1000)  # one second
    sim.read().fsr  # what its sensors say

Names are imported when they are first used: who reads a run with `read_run` does not
wait for the physics engine, who simulates does not wait for pandas.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sim.heating import Heating, HeatingCfg, make_heating
    from sim.leds import Leds
    from sim.recorder import Recorder
    from sim.run_folder import Event, Run, create_run_folder, read_run
    from sim.sensors import SensorCfg
    from sim.servo import ServoCfg
    from sim.simulated_robot import SimulatedRobot, SimulationDiverged
    from sim.simulation_cfg import SimulationCfg
    from sim.speaker import Speaker, Utterance
    from sim.truth import Snapshot, Truth
    from sim.wav import write_wav
    from sim.world_cfg import WorldCfg
else:
    _HOMES = {
        "Event": "sim.run_folder",
        "Heating": "sim.heating",
        "HeatingCfg": "sim.heating",
        "Leds": "sim.leds",
        "Recorder": "sim.recorder",
        "Run": "sim.run_folder",
        "SensorCfg": "sim.sensors",
        "ServoCfg": "sim.servo",
        "SimulatedRobot": "sim.simulated_robot",
        "SimulationCfg": "sim.simulation_cfg",
        "SimulationDiverged": "sim.simulated_robot",
        "Snapshot": "sim.truth",
        "Speaker": "sim.speaker",
        "Truth": "sim.truth",
        "Utterance": "sim.speaker",
        "WorldCfg": "sim.world_cfg",
        "create_run_folder": "sim.run_folder",
        "make_heating": "sim.heating",
        "read_run": "sim.run_folder",
        "write_wav": "sim.wav",
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
    "Event",
    "Heating",
    "HeatingCfg",
    "Leds",
    "Recorder",
    "Run",
    "SensorCfg",
    "ServoCfg",
    "SimulatedRobot",
    "SimulationCfg",
    "SimulationDiverged",
    "Snapshot",
    "Speaker",
    "Truth",
    "Utterance",
    "WorldCfg",
    "create_run_folder",
    "make_heating",
    "read_run",
    "write_wav",
]
