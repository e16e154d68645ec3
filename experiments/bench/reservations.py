"""How many reservations and gated commands a second, and beside what.

All subjects run in turn, block by block, in one process; a second is one of processor
time, so that a busy machine takes less from it.

A pair is a request of one resource, granted, and its release. A gated command is one
set-point of a motor through the gate: submitted, tested, tested again and put into the
one write of its slot; a slot has one of every motor of the robot, and the ledger
advances by a tick. The robot behind it throws the write away.
"""

from dataclasses import dataclass, field

from controllers.arbitration.gate import Gate
from controllers.arbitration.gate.device_map import map_devices
from controllers.arbitration.manager.ledger import Ledger
from controllers.arbitration.requests import Owner, Request
from controllers.arbitration.resource_tree import ResourceTree
from experiments.bench.bare_arbiters import Run, bare_pairs, bare_tests, spot_leases
from experiments.bench.figures import Figure, figure, ratio
from experiments.bench.rates import rates_of
from experiments.bench.request_costs import (
    RequestCostCfg,
    granted,
    measure_request_costs,
)
from experiments.bench.sink import Sink, take_all
from models import Robot, TestbedError
from models.resources import DeviceKind


@dataclass(frozen=True, kw_only=True)
class ReservationBenchCfg:
    """How much to measure."""

    blocks: int = 11
    block_s: float = 0.04
    """Processor time of a block of each subject, in s."""
    costs: RequestCostCfg = field(default_factory=RequestCostCfg)


def measure_reservations(robot: Robot, cfg: ReservationBenchCfg) -> list[Figure]:
    """Measure pairs and gated commands a second, then what a request depends on."""
    runs = {
        "pairs": _pairs(robot),
        "bare pairs": bare_pairs(),
        "commands": _commands(robot),
        "questions": _questions(robot),
        "bare tests": bare_tests(),
    }
    spot = spot_leases()
    if spot is not None:
        runs["spot"] = spot
    found = rates_of(runs, cfg.blocks, cfg.block_s)
    pairs, commands, questions = found["pairs"], found["commands"], found["questions"]
    bare, bare_tests_ = found["bare pairs"], found["bare tests"]
    figures = [
        _rate("reservation_pairs", "take + release", pairs, 100.0),
        _rate("bare_pairs", "take + release, dict and mutex", bare),
        ratio("bare_over_pairs", "dict and mutex / ours", bare, pairs),
        _rate("gated_commands", "gated set-points", commands, 200.0),
        _rate("gate_questions", "the gate's test of a token", questions),
        _rate("bare_tests", "test of a token, dict and mutex", bare_tests_),
        ratio("bare_over_questions", "dict and mutex / ours", bare_tests_, questions),
    ]
    if spot is not None:
        known = found["spot"]
        figures += [
            _rate("spot_leases", "bosdyn-client, advance + test", known),
            ratio("pairs_over_spot", "take + release / bosdyn-client", pairs, known),
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


def _questions(robot: Robot) -> Run:
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
