"""Options of a scenario in real time."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nao_testbed.controllers.arbitration.tokens import Preemption


@dataclass(frozen=True, kw_only=True)
class ScenarioCfg:
    """Options of a scenario, which is loaded in the robot's own process."""

    scenario: str
    """File, or name of a built-in scenario."""
    controller: str | None = None
    """Controller that replaces the file's."""
    seed: int | None = None
    """Seed of all noise; None: the file's."""
    preemption: Preemption | None = None
    """Preemption policy; None: the file's."""
    folder: Path | None = None
    """Run folder."""
    command: Sequence[str] = ()
