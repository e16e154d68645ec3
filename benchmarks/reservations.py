"""Rates of reservations and gated commands, and scaling of a request.

All subjects run alternately, block by block, in one process. Times are processor times,
which depend less on the load of the machine.

A pair is a granted request of one resource, and its release. A gated command is one
set-point of a motor that passes the gate: it is submitted, tested twice, and becomes
part of the single write of its slot. A slot has one command per motor, and the ledger
advances by one tick. The robot discards the write.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import process_time

import numpy as np

from benchmarks.figures import Figure, figure, ratio
from benchmarks.references import Run, bare_pairs, bare_tests, rates_of, spot_leases
from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.gate.device_map import map_devices
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.requests import Owner, Request, Ticket
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.interface.robot_interface import Command, Observation
from nao_testbed.models import Robot, TestbedError
from nao_testbed.models.resources import DeviceKind, ResourceNode

LONG_HOLD_S = 1e6
"""Time limit in s that no reservation of the benchmark reaches."""
HELD = "leaf 0"
MAX_RATIO = 2.0
"""Largest accepted ratio; noise on a busy machine can reach half of it."""
Do = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class RequestCostCfg:
    """Sizes of the scaling test; the first number of each tuple is the reference."""

    resources: tuple[int, ...] = (25, 250, 2500)
    waiters: tuple[int, ...] = (1, 100, 10_000)
    depths: tuple[int, ...] = (2, 8, 32)
    sizes: tuple[int, ...] = (2, 8, 32)
    blocks: int = 11
    repeats: int = 200
    """Number of requests per block."""


def measure_request_costs(cfg: RequestCostCfg) -> list[Figure]:
    """Measure the cost of a request with more resources, waiters, levels and leaves."""
    subjects: dict[str, tuple[str, dict[int, Do]]] = {
        "resources": (
            "request + release of 4 of {n} resources",
            {n: _among_resources(n) for n in cfg.resources},
        ),
        "waiters": (
            "join + leave a queue, {n} waiters",
            {n: _behind_waiters(n) for n in cfg.waiters},
        ),
        "set_executor": (
            "release to the next waiter, {n} waiters",
            {n: _release_to_next(n) for n in cfg.waiters},
        ),
        "depth": (
            "request + release {n} levels above a leaf",
            {n: _above(n) for n in cfg.depths},
        ),
        "owners": (
            "request + release in {n} nested holds",
            {n: _inside(n) for n in cfg.depths},
        ),
        "size": (
            "request + release per leaf, {n} leaves",
            {n: _of_leaves(n) for n in cfg.sizes},
        ),
    }
    figures = []
    for key, (what, runs) in subjects.items():
        times = _times(runs, cfg)
        smallest, *larger = runs
        for n in larger:
            above, below = times[n], times[smallest]
            if key == "size":
                above = [time / n for time in above]
                below = [time / smallest for time in below]
            text = f"{what.format(n=n)} / {smallest}"
            figures.append(ratio(f"cost_{key}_{n}", text, above, below, MAX_RATIO))
    return figures


def granted(ticket: Ticket) -> Token:
    """Return the token of a request that was granted immediately."""
    assert ticket.outcome is not None
    assert ticket.outcome.token is not None
    return ticket.outcome.token


def _times(runs: Mapping[int, Do], cfg: RequestCostCfg) -> dict[int, list[float]]:
    """Return processor times per request in s, in alternating blocks."""
    times: dict[int, list[float]] = {n: [] for n in runs}
    for do in runs.values():
        do()
    for _ in range(cfg.blocks):
        for n, do in runs.items():
            begin = process_time()
            for _ in range(cfg.repeats):
                do()
            times[n].append((process_time() - begin) / cfg.repeats)
    return times


def _ledger(root: ResourceNode) -> Ledger:
    ledger = Ledger(ResourceTree(root))
    ledger.add_owner(Owner(name="bench", timeout_s=LONG_HOLD_S), 0)
    return ledger


def _flat(count: int) -> ResourceNode:
    leaves = tuple(ResourceNode(name=f"leaf {k}") for k in range(count))
    return ResourceNode(name="root", children=leaves)


def _take_and_release(ledger: Ledger, names: Sequence[str], owner: str = "bench") -> Do:
    request = Request(owner=owner, resources=tuple(names))

    def do() -> None:
        ledger.release(granted(ledger.request(request, 0)), 0)

    return do


def _among_resources(count: int) -> Do:
    names = [f"leaf {(k * count) // 4}" for k in range(4)]
    return _take_and_release(_ledger(_flat(count)), names)


def _behind_waiters(count: int) -> Do:
    ledger = _ledger(_flat(1))
    request = Request(owner="bench", resources=(HELD,))
    for k in range(count + 1):
        name = f"owner {k}"
        ledger.add_owner(Owner(name=name, timeout_s=LONG_HOLD_S), 0)
        ledger.request(Request(owner=name, resources=(HELD,)), 0)

    def do() -> None:
        ledger.withdraw(ledger.request(request, 0).number, 0)

    return do


def _release_to_next(count: int) -> Do:
    """Return a run in which the holder releases the leaf and queues up again."""
    ledger = _ledger(_flat(1))
    names = [f"owner {k}" for k in range(count + 1)]
    tickets: list[Ticket] = []
    for name in names:
        ledger.add_owner(Owner(name=name, timeout_s=LONG_HOLD_S), 0)
        tickets.append(ledger.request(Request(owner=name, resources=(HELD,)), 0))
    line = iter(tickets)
    holding = [next(line)]

    def do() -> None:
        last = holding.pop()
        ledger.release(granted(last), 0)
        tickets.append(ledger.request(last.request, 0))
        holding.append(next(line))

    return do


def _above(levels: int) -> Do:
    node = ResourceNode(name=HELD)
    for k in range(levels):
        beside = ResourceNode(name=f"beside {k}")
        if k < levels - 1:
            node = ResourceNode(name=f"level {k}", children=(node,))
        else:
            node = ResourceNode(name=f"level {k}", children=(node, beside))
    return _take_and_release(_ledger(node), [f"level {levels - 2}"])


def _inside(levels: int) -> Do:
    ledger = _ledger(_flat(1))
    above: str | None = None
    for k in range(levels):
        owner = Owner(name=f"owner {k}", parent=above)
        ledger.add_owner(owner, 0)
        above = owner.name
        kept = Request(owner=above, resources=(HELD,))
        granted(ledger.request(kept, 0))
    ledger.add_owner(Owner(name="inmost", parent=above), 0)
    return _take_and_release(ledger, [HELD], owner="inmost")


def _of_leaves(count: int) -> Do:
    return _take_and_release(_ledger(_flat(32)), [f"leaf {k}" for k in range(count)])


def take_all(ledger: Ledger) -> Token:
    """Give one owner every exclusive leaf."""
    ledger.add_owner(Owner(name="bench"), 0)
    everything = Request(owner="bench", resources=(ledger.tree.root.name,))
    return granted(ledger.request(everything, 0))


class Sink:
    """Robot at rest that counts and discards its commands."""

    def __init__(self, robot: Robot) -> None:
        self.writes = 0
        self._robot = robot

    @property
    def robot(self) -> Robot:
        """Description of the robot, which defines the order of arrays."""
        return self._robot

    def read(self) -> Observation:
        """Return sensor values at rest."""
        robot = self._robot
        n_joints, n_motors = len(robot.joints), len(robot.motors)
        angles = next(iter(robot.postures.values())).angles
        return Observation(
            time_s=0.0,
            q=angles.copy(),
            v=np.zeros(n_joints),
            target=angles.copy(),
            stiffness=np.ones(n_joints),
            current=np.zeros(n_motors),
            temperature=np.full(n_motors, 30.0),
            gyro=np.zeros(3),
            accelerometer=np.array([0.0, 0.0, 9.81]),
            fsr=np.zeros(len(robot.force_sensors)),
        )

    def write(self, command: Command) -> None:
        """Count the command and discard it."""
        del command
        self.writes += 1

    def step(self, ticks: int) -> None:
        """Do nothing: the robot is at rest."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


@dataclass(frozen=True, kw_only=True)
class ReservationBenchCfg:
    """Extent of the measurement."""

    blocks: int = 11
    block_s: float = 0.04
    """Processor time per block and subject, in s."""
    costs: RequestCostCfg = field(default_factory=RequestCostCfg)


def measure_reservations(robot: Robot, cfg: ReservationBenchCfg) -> list[Figure]:
    """Measure rates of pairs and gated commands, then the scaling of a request."""
    runs = {
        "pairs": _pairs(robot),
        "bare pairs": bare_pairs(),
        "commands": _commands(robot),
        "questions": _token_checks(robot),
        "bare tests": bare_tests(),
    }
    spot = spot_leases()
    if spot is not None:
        runs["spot"] = spot
    found = rates_of(runs, cfg.blocks, cfg.block_s)
    pairs, commands, questions = found["pairs"], found["commands"], found["questions"]
    bare, bare_tests_ = found["bare pairs"], found["bare tests"]
    figures = [
        _rate("reservation_pairs", "request + release", pairs, 100.0),
        _rate("bare_pairs", "request + release, dict and mutex", bare),
        ratio(
            "bare_over_pairs",
            "request + release, dict and mutex / ledger",
            bare,
            pairs,
        ),
        _rate("gated_commands", "gated set-points", commands, 200.0),
        _rate("gate_questions", "token check by the gate", questions),
        _rate("bare_tests", "token check, dict and mutex", bare_tests_),
        ratio(
            "bare_over_questions",
            "token check, dict and mutex / ledger",
            bare_tests_,
            questions,
        ),
    ]
    if spot is not None:
        known = found["spot"]
        figures += [
            _rate("spot_leases", "bosdyn-client, advance + test", known),
            ratio("pairs_over_spot", "request + release / bosdyn-client", pairs, known),
            ratio(
                "commands_over_spot",
                "gated set-points / bosdyn-client",
                commands,
                known,
            ),
        ]
    return figures + measure_request_costs(cfg.costs)


def _rate(
    name: str, what: str, blocks: list[float], target: float | None = None
) -> Figure:
    return figure(name, what, "k/s", blocks, target, is_at_least=True)


def _pairs(robot: Robot) -> Run:
    ledger = Ledger(ResourceTree(robot.resources))
    ledger.add_owner(Owner(name="bench"), 0)
    name = ledger.tree.motors[0]
    request = Request(owner="bench", resources=(name,))

    def run(count: int) -> int:
        for _ in range(count):
            ledger.release(granted(ledger.request(request, 0)), 0)
        return count

    return run


def _token_checks(robot: Robot) -> Run:
    ledger = Ledger(ResourceTree(robot.resources))
    token = take_all(ledger)
    name = ledger.tree.motors[0]

    def run(count: int) -> int:
        for _ in range(count):
            ledger.authorise(token, name)
        return count

    return run


def _commands(robot: Robot) -> Run:
    ledger, sink = Ledger(ResourceTree(robot.resources)), Sink(robot)
    devices = map_devices(robot.resources, robot)
    gate = Gate(ledger, sink, devices)
    token = take_all(ledger)
    in_force = sink.read().target
    commands = [
        (leaf.name, float(in_force[leaf.joints[0]]))
        for leaf in devices.of_kind(DeviceKind.MOTOR)
    ]

    def run(count: int) -> int:
        writes, slots = sink.writes, -(-count // len(commands))
        for _ in range(slots):
            tick = ledger.tick + 1
            ledger.advance(tick)
            for name, angle in commands:
                gate.submit(token, name, angle)
            gate.flush(tick)
        if sink.writes != writes + slots:
            raise TestbedError("the gate did not write each slot: nothing to measure.")
        return slots * len(commands)

    return run
