"""Sample traces of a real ledger that together contain every kind of event."""

from collections.abc import Callable

import numpy as np

from nao_testbed.controllers.arbitration.events import Event
from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.gate.device_map import map_devices
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.policies import PauseOnDemand, StopOnDemand
from nao_testbed.controllers.arbitration.requests import Owner, Request, Ticket
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import AskerTie, HolderTie, Loss
from nao_testbed.models import load_robot
from tests.controllers.arbitration.gate_setup import KeepingRobot, whole_tree
from tests.controllers.arbitration.ledger_setup import BY_PRIORITY, LedgerSetup


def queue() -> list[Event]:
    """Return a trace: four behaviours request the head; one times out (E1)."""
    stage = LedgerSetup()
    for name, limit_s in (("1", 5.0), ("2", 5.0), ("3", 10.0), ("4", 1.0)):
        stage.owner(name, timeout_s=limit_s)
    first = stage.take("1", "Head")
    stage.at(0.5)
    second = stage.ask("2", "Head", "LHand")
    stage.at(0.6)
    third = stage.ask("3", "HeadYaw")
    stage.at(0.7)
    stage.ask("4", "HeadPitch")
    stage.at(3.0)
    stage.release(first)
    stage.at(5.0)
    stage.release(second.token, "HeadYaw")
    stage.release(second.token)
    stage.release(third.token)
    stage.until(9.0)
    return stage.events


def priorities() -> list[Event]:
    """Return a trace of preemption, ties, whole and partial loss, free parts (E6)."""
    stage = LedgerSetup()
    stage.ledger.reconfigure(0, preemption=BY_PRIORITY)
    stage.owners("arm", "see", "look", "tie")
    stage.take("arm", "LArm", priority=5)
    stage.take("see", "Head", "TTS", priority=2)
    look = stage.take("look", "Head", "RHand", priority=9)
    stage.ask("tie", "Head", priority=9, timeout_s=0.0, asker_tie=AskerTie.WINS)
    stage.ask("see", "TTS", priority=1, optional=("LArm",))
    stage.release(look, "RHand")
    stage.at(0.1)
    stage.take("see", "RHand", "RShoulderPitch", loss=Loss.PARTIAL, priority=3)
    waits = stage.ask("arm", "RHand", priority=3)
    yields = HolderTie.YIELDS
    stage.take("tie", "RHand", priority=4, holder_tie=yields, policy=StopOnDemand())
    stage.ledger.withdraw(waits.number, stage.tick)
    stage.take("look", "RHand", priority=4, asker_tie=AskerTie.WINS)
    stage.release(look)
    stage.until(7.0)
    return stage.events


def families() -> list[Event]:
    """Return a trace: a parent reserves, children use, a stranger waits; release."""
    stage = LedgerSetup()
    stage.owner("parent")
    stage.owners("first", "second", parent="parent", policy=StopOnDemand(within_s=0.1))
    stage.owner("stranger")
    keeps = stage.take("parent", "Arms")
    rates = stage.take("parent", rates={"CPU": 50.0})
    stage.take("first", "LArm", rates={"CPU": 30.0}, loss=Loss.PARTIAL)
    stage.at(0.1)
    stage.ask("second", "LHand", rates={"CPU": 20.0})
    stage.ask("stranger", "RHand", timeout_s=2.0)
    stage.until(1.0)
    stage.take("second", "RArm")
    stage.release(keeps)
    stage.release(rates)
    stage.until(6.0)
    return stage.events


def pauses() -> list[Event]:
    """Return a trace of a pause, a deadlock of two owners, and a growing token."""
    stage = LedgerSetup()
    stage.owner("walk", policy=PauseOnDemand(within_s=0.3))
    stage.owners("greet", "third")
    stage.take("walk", "Legs", "LArm")
    greeting = stage.ask("greet", "LArm", "TTS")
    stage.until(0.5)
    stage.release(greeting.token, "LArm")
    stage.at(0.7)
    voice = greeting.token
    stage.ask("greet", "Microphone", add_to=voice)
    stage.take("third", "Head")
    stage.ask("third", "TTS")
    stage.ask("greet", "Head")  # would be a deadlock
    stage.release(voice)
    stage.until(2.0)
    return stage.events


def bodies() -> list[Event]:
    """Return a trace of heat, a fall, state changes, expiry, a crash, and a ball."""
    stage = LedgerSetup()
    stage.owners("dance", "talk")
    stage.owner("sit", policy=StopOnDemand())
    stage.owner("robot 2", time_to_live_s=0.5)
    stage.ledger.add_resource("Ball", "root", stage.tick)
    stage.take("robot 2", "Ball")
    stage.ledger.set_state("State", "Stand", stage.tick)
    stage.take("dance", "Stand", "Legs", rates={"CPU": 60.0})
    stage.take("sit", "Stand")
    stage.ledger.ask_state("State", "Sit", stage.tick)
    stage.ask("talk", "Sit", "TTS", timeout_s=3.0)
    stage.ledger.renew("robot 2", 20)
    stage.at(0.3)
    stage.ledger.freeze(["LLeg"], "hot", stage.tick, effort_cap=0.3)
    stage.ask("dance", "LLeg", timeout_s=3.0)
    stage.ask("talk", timeout_s=2.0, optional=("LKneePitch",))
    stage.ledger.set_state("State", "Back", stage.tick)
    stage.at(1.0)
    stage.ledger.freeze(["RLeg"], "warm", stage.tick, effort_cap=0.8, is_total=False)
    stage.ledger.thaw("hot", stage.tick)
    stage.at(1.5)
    stage.ledger.remove_resource("Ball", stage.tick)
    stage.ledger.drop("dance", stage.tick)
    stage.ledger.set_state("State", "Sit", stage.tick)
    stage.until(4.0)
    return stage.events


def loans() -> list[Event]:
    """Return a trace: a greeting lends its voice, recalls it, and lends it again."""
    stage = LedgerSetup()
    stage.owners("greeting", "talker", "next")
    token = stage.take("greeting", "RArm", "TTS")
    stage.ledger.lend(token, stage.tick, ("TTS",))
    stage.at(0.2)
    stage.take("talker", "TTS")
    stage.ask("next", "TTS", timeout_s=2.0)
    stage.at(1.0)
    stage.ledger.recall(token, stage.tick)
    stage.at(1.5)
    stage.ledger.lend(token, stage.tick, ("TTS",))
    stage.at(2.0)
    stage.release(token)
    stage.until(4.0)
    return stage.events


def commands() -> list[Event]:
    """Return a trace of accepted and rejected commands with a joint frozen by heat."""
    events: list[Event] = []
    robot = load_robot()
    root = whole_tree(robot)
    ledger = Ledger(ResourceTree(root), LedgerCfg(), listeners=[events.append])
    gate = Gate(ledger, KeepingRobot(robot), map_devices(root, robot))
    for name in ("look", "nod"):
        ledger.add_owner(Owner(name=name), 0)

    def take(owner: str, *names: str) -> Request:
        return Request(owner=owner, resources=names)

    yaw = ledger.request(take("look", "HeadYaw"), 0).token
    nod = ledger.request(take("nod", "HeadPitch"), 0).token
    for tick in range(1, 12):
        gate.submit(yaw, "HeadYaw", 0.1)
        gate.submit(nod, "HeadPitch", 0.1)
        gate.submit(nod, "HeadYaw", 0.1)
        gate.submit(nod._replace(secret=nod.secret ^ 1), "HeadPitch", 0.2)
        gate.submit(None, "HeadPitch", 0.1)
        if tick == 5:
            ledger.freeze(["HeadYaw"], "hot", tick)
        if tick == 9:
            ledger.thaw("hot", tick)
            ledger.release(nod, tick)
        ledger.advance(tick)
        gate.flush(tick)
    return events


def rights() -> list[Event]:
    """Return a trace: a controller limits and shifts joints of other owners."""
    events: list[Event] = []
    robot = load_robot()
    root = whole_tree(robot)
    cfg = LedgerCfg(preemption=BY_PRIORITY)
    ledger = Ledger(ResourceTree(root), cfg, listeners=[events.append])
    gate = Gate(ledger, KeepingRobot(robot), map_devices(root, robot))
    for name, priority in (("controller", 5), ("look", 0), ("stranger", 0)):
        ledger.add_owner(Owner(name=name, priority=priority), 0)

    def take(owner: str, *names: str) -> Ticket:
        return ledger.request(Request(owner=owner, resources=names, timeout_s=0.0), 0)

    look = take("look", "HeadYaw").token
    take("stranger", "Stiffness")
    ledger.entrust("controller", 0)
    limits = take("controller", "Stiffness").token
    shift = np.zeros(len(robot.joints))
    for tick in range(1, 8):
        shift[robot.joint_index("HeadYaw")] = 0.02 * tick
        gate.submit(limits, "Stiffness", 0.5)
        gate.submit_shift(limits, shift)
        if tick == 3:
            ledger.allow_shift(look, "controller", tick, is_allowed=False)
        if tick == 5:
            ledger.allow_limit(look, "controller", tick, is_allowed=False)
            ledger.freeze(["HeadYaw"], "tired", tick, effort_cap=0.7, is_total=False)
        ledger.advance(tick)
        gate.flush(tick)
    ledger.drop("controller", 7)
    ledger.freeze(["HeadYaw"], "broken", 7)
    ticket = ledger.request(Request(owner="stranger", resources=("Stiffness",)), 7)
    gate.submit(ticket.token, "Stiffness", 0.0)
    ledger.advance(8)
    gate.flush(8)
    return events


STORIES: tuple[Callable[[], list[Event]], ...] = (
    queue,
    priorities,
    families,
    pauses,
    bodies,
    loans,
    commands,
    rights,
)
