"""Calls of ES2535273: names, parameters, order, and effects."""

import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import pytest

from nao_testbed.controllers.arbitration.manager.front import LedgerFront
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.arbitration.naoqi import ES2535273Calls, ResourceCalls
from nao_testbed.controllers.arbitration.policies import (
    Answer,
    AnswerKind,
    Lock,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.requests import NotGranted, Owner
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import OutcomeKind, Refusal, Why
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.models import BadInput, UnknownName, default_robot_folder, load_robot

TREE = ResourceTree(load_robot(default_robot_folder()).resources)


class World:
    """Ledger whose waiting callers run scripted actions at given ticks."""

    def __init__(self) -> None:
        self.ledger = Ledger(TREE)
        self.script: dict[int, Callable[[], object]] = {}
        self.services: dict[str, object] = {}
        self.calls = ResourceCalls(LedgerFront(self.ledger, self.go_on), self.services)

    def go_on(self) -> None:
        tick = self.ledger.tick + 1
        self.ledger.advance(tick)
        if tick in self.script:
            self.script.pop(tick)()

    def owners_of(self, leaf: str) -> list[str]:
        rows = take_snapshot(self.ledger).resources
        return [h.owner for row in rows if row.name == leaf for h in row.holders]

    def waiters_of(self, leaf: str) -> list[str]:
        rows = take_snapshot(self.ledger).resources
        return [w.owner for row in rows if row.name == leaf for w in row.waiters]


@pytest.fixture
def world() -> World:
    return World()


@dataclass
class TreeObject:
    """Object with a parent and a callback that records its calls."""

    name: str
    parent: "TreeObject | None" = None
    heard: list[tuple[str, str]] = field(default_factory=list)
    answers: Callable[[], object] = lambda: None

    def onResource(self, resource: str, owner: str) -> object:
        self.heard.append((resource, owner))
        return self.answers()


@pytest.mark.requirement("RM-9", "RM-10", "RM-11", "RM-12")
@pytest.mark.parametrize(
    ("call", "parameters"),
    [
        (
            "waitForResource",
            ["resourceName", "ownerName", "callbackName", "timeoutSeconds"],
        ),
        (
            "waitForLocalResourcesTree",
            ["resourceName", "treeOwnerPtr", "callbackName", "timeoutSeconds"],
        ),
        ("waitResources", ["resources", "owner", "callback", "timeout"]),
        ("releaseResource", ["resourceName", "ownerName"]),
    ],
)
def test_calls_have_the_parameters_of_the_document(
    call: str, parameters: list[str]
) -> None:
    signature = inspect.signature(getattr(ES2535273Calls, call))
    assert list(signature.parameters)[1:] == parameters
    assert signature.return_annotation is None


@pytest.mark.requirement("RM-9", "RM-11", "AR-9")
def test_resource_is_taken_used_and_released(world: World) -> None:
    calls, ledger = world.calls, world.ledger
    calls.waitForResource("Head", "Dance", "", 5)
    assert world.owners_of("HeadYaw") == world.owners_of("HeadPitch") == ["Dance"]
    token = calls.token("Dance", "HeadYaw")
    assert ledger.authorise(token, "HeadPitch") is None
    calls.releaseResource("Head", "Dance")
    assert world.owners_of("HeadYaw") == []
    assert ledger.authorise(token, "HeadYaw") is Refusal.RELEASED
    with pytest.raises(BadInput, match="holds no part of 'HeadYaw'"):
        calls.token("Dance", "HeadYaw")


@pytest.mark.requirement("RM-9", "RM-17", "RM-19")
def test_call_waits_until_the_resource_is_free(world: World) -> None:
    world.calls.waitForResource("HeadYaw", "MoveHead1", "", 0)
    world.script[120] = lambda: world.calls.releaseResource("HeadYaw", "MoveHead1")
    world.calls.waitForResource("HeadYaw", "MoveHead2", "", 5)
    assert world.ledger.tick == 120
    assert world.owners_of("HeadYaw") == ["MoveHead2"]


@pytest.mark.requirement("RM-9", "RM-20")
def test_wait_that_times_out_raises_and_holds_nothing(world: World) -> None:
    world.calls.waitForResource("HeadYaw", "MoveHead1", "", 0)
    with pytest.raises(
        NotGranted, match=r"timeout.*HeadYaw: MoveHead1.*[Ww]ait longer"
    ):
        world.calls.waitResources(["TTS", "HeadYaw"], "MoveHead2", "", 1)
    assert world.ledger.tick == 100
    assert world.owners_of("TTS") == world.waiters_of("HeadYaw") == []
    with pytest.raises(NotGranted) as refused:
        world.calls.waitForResource("HeadYaw", "MoveHead2", "", 0)
    assert refused.value.outcome.kind is OutcomeKind.DENIED
    assert refused.value.outcome.why is Why.BUSY
    assert refused.value.request.owner == "MoveHead2"


@pytest.mark.requirement("RM-20")
def test_negative_timeout_is_rejected(world: World) -> None:
    with pytest.raises(BadInput, match=r"timeout is -1 s"):
        world.calls.waitForResource("HeadYaw", "Dance", "", -1)
    with pytest.raises(BadInput, match=r"timeout is -1 s"):
        world.calls.acquireResource("HeadYaw", "Dance", "", -1)
    assert take_snapshot(world.ledger).owners == ()


@pytest.mark.requirement("RM-33", "RM-38")
def test_callback_gets_resource_and_owner_and_keeps_by_default(
    world: World,
) -> None:
    dance = world.services["Dance"] = TreeObject("Dance")
    world.calls.waitForResource("Head", "Dance", "onResource", 0)
    with pytest.raises(NotGranted):
        world.calls.waitForResource("HeadYaw", "Look", "", 1)
    assert dance.heard == [("HeadYaw", "Dance")] * 2  # at 0 s and 0.5 s
    assert world.owners_of("HeadYaw") == ["Dance"]


@pytest.mark.requirement("RM-33", "RM-36")
def test_callback_may_release_for_an_immediate_grant(world: World) -> None:
    dance = world.services["Dance"] = TreeObject("Dance")
    dance.answers = lambda: world.calls.releaseResource("Head", "Dance")
    world.calls.waitForResource("Head", "Dance", "onResource", 0)
    world.calls.waitForResource("Head", "Look", "", 0)
    assert dance.heard == [("HeadPitch", "Dance")]  # HeadYaw is released by then
    assert world.owners_of("HeadYaw") == world.owners_of("HeadPitch") == ["Look"]


@pytest.mark.requirement("RM-33", "RM-37")
def test_paused_owner_resumes_with_its_set_without_a_call(world: World) -> None:
    dance = world.services["Dance"] = TreeObject("Dance")
    dance.answers = lambda: Answer(kind=AnswerKind.PAUSE)
    world.calls.waitForResource("Head", "Dance", "onResource", 0)
    first = world.calls.token("Dance", "HeadYaw")
    world.calls.waitForResource("HeadYaw", "Look", "", 0)
    with pytest.raises(BadInput, match="holds no part"):
        world.calls.token("Dance", "HeadYaw")
    world.calls.releaseResource("HeadYaw", "Look")
    again = world.calls.token("Dance", "HeadYaw")
    assert again.sequence > first.sequence
    world.calls.releaseResource("Head", "Dance")
    assert world.owners_of("HeadPitch") == []


@pytest.mark.requirement("RM-33")
def test_owner_without_a_service_can_take_resources(world: World) -> None:
    """There are no callbacks then, as with the robot's own manager."""
    world.calls.waitForResource("HeadYaw", "sample", "onResource", 0)
    assert world.owners_of("HeadYaw") == ["sample"]


def test_missing_callback_method_is_rejected(
    world: World,
) -> None:
    world.services["Dance"] = TreeObject("Dance")
    with pytest.raises(UnknownName, match="Did you mean 'onResource'"):
        world.calls.waitForResource("HeadYaw", "Dance", "onResourse", 0)
    assert take_snapshot(world.ledger).owners == ()


@pytest.mark.requirement("RM-38")
def test_policy_of_the_owner_applies_without_a_callback(world: World) -> None:
    world.ledger.add_owner(Owner(name="Idle", policy=StopOnDemand()), 0)
    world.calls.waitForResource("HeadYaw", "Idle", "", 0)
    world.calls.waitForResource("HeadYaw", "Look", "", 0)
    assert world.owners_of("HeadYaw") == ["Look"]
    habits = {row.name: row.policy for row in take_snapshot(world.ledger).owners}
    assert habits == {"Idle": StopOnDemand.name, "Look": Lock.name}


@pytest.mark.requirement("RM-6", "RM-10", "RM-26")
def test_hold_of_an_object_can_be_used_by_its_children(world: World) -> None:
    root = TreeObject("root")
    inner = TreeObject("inner", parent=TreeObject("middle", parent=root))
    world.calls.waitForLocalResourcesTree(["TTS"], inner, "onResource", 0)
    parents = {row.name: row.parent for row in take_snapshot(world.ledger).owners}
    assert parents == {"root": None, "middle": "root", "inner": "middle"}
    world.calls.waitForLocalResourcesTree(["Head"], root, "", 0)
    with pytest.raises(NotGranted):
        world.calls.waitForLocalResourcesTree(["HeadYaw"], TreeObject("other"), "", 0)
    world.calls.waitForLocalResourcesTree(["HeadYaw", "HeadPitch"], inner, "", 0)
    assert world.owners_of("HeadYaw") == ["inner", "root"]


@pytest.mark.requirement("RM-10", "RM-33")
def test_callback_of_a_tree_owner_is_its_method(world: World) -> None:
    box = TreeObject("box", parent=TreeObject("root"))
    world.calls.waitForLocalResourcesTree(["HeadYaw"], box, "onResource", 0)
    with pytest.raises(NotGranted):
        world.calls.waitForResource("HeadYaw", "Look", "", 0)
    assert box.heard == [("HeadYaw", "box")]


def test_owner_has_one_parent_and_a_tree_has_a_root(world: World) -> None:
    world.calls.waitForLocalResourcesTree(
        ["TTS"], TreeObject("a", TreeObject("b")), "", 0
    )
    with pytest.raises(BadInput, match="already a part of 'b', not of 'c'"):
        world.calls.waitForLocalResourcesTree(
            ["HeadYaw"], TreeObject("a", TreeObject("c")), "", 0
        )
    ring = TreeObject("ring")
    ring.parent = TreeObject("half", parent=ring)
    with pytest.raises(BadInput, match="'ring' is its own ancestor"):
        world.calls.waitForLocalResourcesTree(["HeadYaw"], ring, "", 0)
    assert world.owners_of("HeadYaw") == []


@pytest.mark.requirement("RM-6")
def test_parents_follow_from_the_pieces_of_a_box_name(world: World) -> None:
    world.calls.waitForResource("TTS", "app__root__Hello_1", "", 0)
    world.calls.waitForResource("HeadYaw", "app__root", "", 0)
    parents = {row.name: row.parent for row in take_snapshot(world.ledger).owners}
    assert parents == {
        "app": None,
        "app__root": "app",
        "app__root__Hello_1": "app__root",
    }
    world.calls.waitForResource("Chest", "__main__", "", 0)
    assert world.owners_of("Chest") == ["__main__"]


def test_known_owner_keeps_its_parent(world: World) -> None:
    world.ledger.add_owner(Owner(name="app__Hello_1"), 0)
    world.calls.waitForResource("TTS", "app__Hello_1", "", 0)
    assert [row.name for row in take_snapshot(world.ledger).owners] == ["app__Hello_1"]


@pytest.mark.requirement("RM-9", "RM-12")
def test_repeated_take_of_a_held_resource_succeeds(world: World) -> None:
    calls = world.calls
    calls.waitForResource("HeadYaw", "Dance", "", 0)
    calls.waitForResource("HeadYaw", "Dance", "", 0)
    calls.waitResources(["Head", "TTS"], "Dance", "", 0)  # the remaining leaves
    calls.waitResources(["TTS", "Head", "HeadPitch"], "Dance", "", 0)
    assert calls.areResourcesOwnedBy(["Head", "TTS"], "Dance")
    calls.releaseResource("Head", "Dance")
    assert calls.areResourcesOwnedBy(["TTS"], "Dance")
    assert calls.isResourceFree("Head")


@pytest.mark.requirement("RM-11")
def test_release_of_what_is_not_held_is_rejected(
    world: World,
) -> None:
    world.calls.waitForResource("HeadYaw", "Dance", "", 0)
    for wrong in (["HeadYaw", "TTS"], ["TTS"], []):
        owner = "Dance" if wrong else "Look"
        with pytest.raises(BadInput, match=f"'{owner}' holds no part of"):
            world.calls.releaseResources(wrong or ["HeadYaw"], owner)
    assert world.owners_of("HeadYaw") == ["Dance"]
    with pytest.raises(UnknownName, match="Did you mean 'HeadYaw'"):
        world.calls.releaseResource("HeadYow", "Dance")


@pytest.mark.requirement("RM-12", "RM-22", "RM-24")
def test_crossed_groups_never_hold_one_each(world: World) -> None:
    calls = world.calls
    calls.waitResources(["TTS", "LShoulderPitch"], "1", "", 5)
    world.script[200] = lambda: calls.releaseResources(["TTS", "LShoulderPitch"], "1")
    calls.waitResources(["LShoulderPitch", "TTS"], "2", "", 5)
    assert world.ledger.tick == 200
    assert calls.areResourcesOwnedBy(["TTS", "LShoulderPitch"], "2")


@pytest.mark.requirement("RM-53")
def test_call_for_a_state_waits_until_it_is_active(world: World) -> None:
    world.script[30] = lambda: world.calls.enableStateResource("Sit", True)
    world.calls.waitForResource("Sit", "cut all motors", "", 5)
    assert world.ledger.tick == 30
    world.calls.enableStateResource("Sit", False)
    assert world.owners_of("Sit") == []


def test_callback_cannot_wait_and_leaves_no_request(world: World) -> None:
    """Time does not advance during a demand."""
    dance = world.services["Dance"] = TreeObject("Dance")
    refused: list[Exception] = []

    def wait() -> None:
        try:
            world.calls.waitForResource("HeadYaw", "Dance 2", "", 5)
        except BadInput as error:
            refused.append(error)

    dance.answers = wait
    world.calls.waitForResource("HeadYaw", "Dance", "onResource", 0)
    with pytest.raises(NotGranted):
        world.calls.waitForResource("HeadYaw", "Look", "", 0)
    assert len(refused) == 1
    assert world.waiters_of("HeadYaw") == []


@pytest.mark.requirement("RM-13")
@pytest.mark.parametrize("kind", ["loop", "threads"])
def test_same_program_runs_in_a_loop_and_with_threads(
    kind: str,
) -> None:
    ledger = Ledger(TREE)

    def program(calls: ES2535273Calls) -> None:
        calls.waitForResource("Head", "Dance", "onResource", 1)
        with pytest.raises(NotGranted, match="timeout"):
            calls.waitResources(["TTS", "HeadYaw"], "Look", "", 0.05)
        calls.releaseResource("HeadYaw", "Dance")
        calls.waitResources(["TTS", "HeadYaw"], "Look", "", 0)

    dance = TreeObject("Dance")
    if kind == "loop":
        program(ES2535273Calls(LedgerFront(ledger), {"Dance": dance}))
    else:
        with SharedLedger(ledger) as shared:
            program(ES2535273Calls(shared, {"Dance": dance}))
    assert dance.heard
    owners = {r.name: r.holders[0].owner for r in _held(ledger)}
    assert owners == {"HeadPitch": "Dance", "HeadYaw": "Look", "TTS": "Look"}


def _held(ledger: Ledger) -> list:  # type: ignore[type-arg]
    return [row for row in take_snapshot(ledger).resources if row.holders]


@pytest.mark.requirement("RM-33", "RM-35")
def test_service_is_notified_of_a_loss(world: World) -> None:
    lost: list[tuple[str, str]] = []

    class Service:
        def onResourceLost(self, resource: str, owner: str) -> None:
            lost.append((resource, owner))

    world.services["Dance"] = Service()
    world.calls.waitForResource("Head", "Dance", "", 0)
    world.ledger.freeze(["HeadYaw"], "hotEngine", world.ledger.tick)
    assert lost == [("HeadYaw", "Dance"), ("HeadPitch", "Dance")]
    world.calls.waitForResource("HeadPitch", "Dance", "", 0)
    world.calls.releaseResource("HeadPitch", "Dance")
    assert len(lost) == 2


@pytest.mark.requirement("RM-26", "RM-28", "RM-29", "RM-30")
@pytest.mark.parametrize(
    "call", ["waitForResource", "waitResources", "acquireResource", "by objects"]
)
def test_hold_of_a_parent_can_be_used_by_its_children(world: World, call: str) -> None:
    """With these calls only: a box of an application, its boxes, and a stranger."""

    def take(owner: str, timeout_s: float = 0.0) -> None:
        if call == "by objects":
            names = owner.split("__")
            box = TreeObject(names[0])
            for k in range(2, len(names) + 1):
                box = TreeObject("__".join(names[:k]), box)
            world.calls.waitForLocalResourcesTree(["Head"], box, "", timeout_s)
        elif call == "waitResources":
            world.calls.waitResources(["Head"], owner, "", timeout_s)
        else:
            getattr(world.calls, call)("Head", owner, "", timeout_s)

    def may(owner: str) -> Refusal | None:
        token = world.calls.token(owner, "HeadYaw")
        return world.ledger.authorise(token, "HeadYaw")

    take("root")
    assert may("root") is None
    take("root__dance__nod")
    assert may("root__dance__nod") is None
    for refused in ("root__look", "stranger"):
        with pytest.raises(NotGranted, match="blocked by"):
            take(refused)
    take("root")  # already held: its child keeps its hold
    take("root__dance__nod")
    assert world.owners_of("HeadYaw") == ["root__dance__nod", "root"]
    world.calls.releaseResource("Head", "root__dance__nod")
    take("root__look")
    world.script[world.ledger.tick + 5] = lambda: world.calls.releaseResource(
        "Head", "root"
    )
    take("stranger", 1.0)
    assert world.owners_of("HeadYaw") == ["stranger"]


class Endless:
    """Object with an endless chain of parents."""

    def __init__(self, depth: int = 0) -> None:
        self.name = f"box {depth}"
        self.depth = depth

    @property
    def parent(self) -> "Endless":
        return Endless(self.depth + 1)


class Slow:
    """Object whose attributes run other code, which may need the ledger's lock."""

    def __init__(self, look: Callable[[], object]) -> None:
        self.look = look

    @property
    def name(self) -> str:
        self.look()
        return "slow"

    @property
    def parent(self) -> None:
        self.look()


@pytest.mark.requirement("RM-6", "RM-10")
@pytest.mark.parametrize("parent", ["app", 7, ("app",), True])
def test_parent_must_be_an_object(world: World, parent: object) -> None:
    box = TreeObject("Hello")
    box.parent = parent  # type: ignore[assignment]
    with pytest.raises(BadInput, match=r"the parent of 'Hello' is .*give the object"):
        world.calls.waitForLocalResourcesTree(["TTS"], box, "", 1)
    assert not world.ledger.knows("Hello")


@pytest.mark.requirement("RM-6", "RM-10")
def test_endless_tree_of_owners_is_rejected(world: World) -> None:
    endless = cast("TreeObject", Endless())
    with pytest.raises(BadInput, match="give a tree of owners with a root"):
        world.calls.waitForLocalResourcesTree(["TTS"], endless, "", 1)
    assert not world.ledger.knows("box 0")


@pytest.mark.requirement("RM-6", "RM-10")
def test_parent_is_looked_up_without_the_lock() -> None:
    with SharedLedger(Ledger(TREE)) as front:
        calls = ES2535273Calls(front)
        asked: list[bool] = []

        def look() -> None:
            other = threading.Thread(
                target=lambda: asked.append(bool(front.snapshot()))
            )
            other.start()
            other.join(1.0)
            assert not other.is_alive(), "the ledger's lock is held"

        slow = cast("TreeObject", Slow(look))
        calls.waitForLocalResourcesTree(["Audio"], slow, "", 1)
        assert asked


class RaisingOwner(TreeObject):
    """Object whose callbacks raise."""

    def onResourceLost(self, resource: str, owner: str) -> None:
        self.heard.append((resource, owner))
        raise ValueError(f"lost {resource}")

    def asked(self, resource: str, owner: str) -> None:
        self.onResourceLost(resource, owner)


@pytest.mark.requirement("RM-33", "AR-18")
def test_owner_that_raises_is_notified_of_every_lost_leaf(world: World) -> None:
    owner_box = RaisingOwner("Hello")
    world.calls.waitForLocalResourcesTree(["Head"], owner_box, "", 1)
    world.ledger.freeze(["HeadYaw"], "hotEngine", 0)
    assert owner_box.heard == [("HeadYaw", "Hello"), ("HeadPitch", "Hello")]


@pytest.mark.requirement("RM-33")
def test_owner_that_raises_is_notified_of_every_demand(world: World) -> None:
    owner_box = RaisingOwner("Hello")
    world.calls.waitForLocalResourcesTree(["Head"], owner_box, "asked", 1)
    with pytest.raises(NotGranted):
        world.calls.waitForResource("Head", "other", "", 0)
    assert owner_box.heard == [("HeadPitch", "Hello"), ("HeadYaw", "Hello")]
    assert world.owners_of("HeadYaw") == ["Hello"]
