"""A served robot in the process of the test, which advances its slots."""

from collections.abc import Callable
from typing import Any

from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials
from nao_testbed.experiments.server.naoqi.naoqi_client import NaoqiClient, Parts
from nao_testbed.experiments.server.naoqi.served_robot import ServedRobot
from nao_testbed.experiments.server.naoqi.services.table import BEGUN, SERVICES


class InProcess:
    """Robot in its first posture, and two clients."""

    def __init__(self, begin_s: float = 3.0) -> None:
        (trial,) = plan_trials(HeatCfg(controllers=("fixed",), preset=None))
        self.served = ServedRobot(trial)
        self.parts = Parts(self.served)
        for kind in BEGUN:
            self.parts.get(kind)
        self.clients = [NaoqiClient(self.parts, i, "test") for i in (1, 2)]
        self.run(begin_s)

    def ask(self, service: str, client: int = 0) -> Callable[..., Any]:
        """Return a function that calls methods of a service by name."""
        kind = next(one for one in SERVICES if service == one.NAME)
        made = kind(self.clients[client])
        return lambda method, *args: made._call(method, args)

    def run(self, seconds: float) -> None:
        end = self.served.time_s + seconds
        while self.served.time_s < end - 1e-9:
            self.served.slot()
