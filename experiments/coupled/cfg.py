"""What defines a robot whose body and reservations are coupled."""

from dataclasses import dataclass, field

from controllers.arbitration.faults.posture_monitor import PostureMonitorCfg
from controllers.arbitration.faults.virtual_owners import HotEngineCfg
from controllers.arbitration.manager.state import LedgerCfg
from controllers.transmitter.buses.bus import TransmitterCfg
from controllers.transmitter.commands.converter import DelayModel
from controllers.transmitter.commands.issuing import CommandControllerCfg
from models.library import Library
from sim.robot import SimulationCfg


@dataclass(frozen=True, kw_only=True)
class CoupledCfg:
    """The robot, its reservations, and what couples them."""

    posture: str = "Stand"
    simulation: SimulationCfg = field(default_factory=SimulationCfg)
    ledger: LedgerCfg = field(default_factory=LedgerCfg)
    hot_engine: HotEngineCfg = field(default_factory=HotEngineCfg)
    posture_monitor: PostureMonitorCfg = field(default_factory=PostureMonitorCfg)
    transmitter: TransmitterCfg = field(default_factory=TransmitterCfg)
    commands: CommandControllerCfg = field(default_factory=CommandControllerCfg)
    delays: DelayModel | None = None
    """What the converters really take; None: what is expected."""
    voice: str = "syllables"
    """What says texts: one of `controllers.speech.VOICES`."""
    library: Library | None = None
    """What it can do by heart; None: the robot's own."""
    look_s: float = 0.02
    """Period of the posture monitor in s: the controllers' cycle."""
    feel_s: float = 1.0
    """Period of `hotEngine` in s: temperatures are read anew so often."""
