"""NAOqi robot whose services are called in this process, on a simulated clock."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from math import ceil
from typing import Any

import pytest

pytest.importorskip("qi", reason="qi is not installed: extra `naoqi`")

from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials
from nao_testbed.experiments.server.naoqi.naoqi_client import NaoqiClient, Parts
from nao_testbed.experiments.server.naoqi.served_robot import ServedRobot
from nao_testbed.experiments.server.naoqi.services.table import BEGUN, SERVICES
from nao_testbed.sim.naoqi import NaoqiRobot
from nao_testbed.sim.naoqi.connection import Connection


class _Remote:
    def __init__(self, service: Any, calls: list[str]) -> None:
        self._service, self._calls = service, calls

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            self._calls.append(name)
            return self._service._call(name, values)

        return call


class InProcess(Connection):
    """Connection that calls the services directly; records each call."""

    def __init__(self, client: NaoqiClient) -> None:
        self.client = client
        self.url = "in process"
        self.calls: list[str] = []

    def service(self, name: str) -> Any:
        kind = next(one for one in SERVICES if name == one.NAME)
        return _Remote(kind(self.client), self.calls)

    def has_service(self, name: str) -> bool:
        return any(name == one.NAME for one in SERVICES)

    def call(self, limit_s: float, method: Callable[..., Any], *values: object) -> Any:
        result = method(*values)
        return result.result() if isinstance(result, Future) else result

    def close(self) -> None:
        pass


class Endpoint:
    """Served robot that advances while its client sleeps."""

    def __init__(self, settle_s: float, **setting: Any) -> None:
        cfg = HeatCfg(controllers=("fixed",), preset=None, **setting)
        (trial,) = plan_trials(cfg)
        self.served = ServedRobot(trial)
        self.parts = Parts(self.served)
        for kind in BEGUN:
            self.parts.get(kind)
        self.n_clients = 0
        self.run(settle_s)

    @property
    def sim(self) -> Any:
        return self.served.body.sim

    def run(self, seconds: float) -> None:
        for _ in range(ceil(seconds / self.served.tick_s - 1e-6)):
            self.served.slot()

    def client(self) -> NaoqiClient:
        self.n_clients += 1
        return NaoqiClient(self.parts, self.n_clients, "test")

    def connect(self) -> tuple[NaoqiRobot, InProcess]:
        connection = InProcess(self.client())
        robot = NaoqiRobot(
            self.served.robot,
            connection,
            clock=lambda: self.served.time_s,
            sleep=self.run,
        )
        return robot, connection


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    found = Endpoint(0.2)
    yield found
    found.served.close("done")
