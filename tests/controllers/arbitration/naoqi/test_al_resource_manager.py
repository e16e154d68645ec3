"""Calls of ALResourceManager on the same ledger."""

import inspect

import pytest

from nao_testbed.controllers.arbitration.manager.front import LedgerFront
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.naoqi import ES2535273Calls, ResourceCalls
from nao_testbed.controllers.arbitration.requests import NotGranted, Owner, Request
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.models import BadInput, UnknownName, default_robot_folder, load_robot

SIGNATURES = {
    "acquireResource": ["resource", "module", "callback", "timeoutSeconds"],
    "acquireResourcesTree": ["resources", "module", "callback", "timeout"],
    "waitForResourcesTree": ["resources", "owner", "callback", "timeout"],
    "waitForOptionalResourcesTree": [
        "resources",
        "owner",
        "callback",
        "timeout",
        "optional",
    ],
    "releaseResource": ["resourceName", "ownerName"],
    "releaseResources": ["resources", "owner"],
    "isResourceFree": ["resource"],
    "areResourcesFree": ["resources"],
    "areResourcesOwnedBy": ["resources", "owner"],
    "checkStateResourceFree": ["resources"],
    "createResource": ["name", "parent"],
    "createResourcesList": ["names", "parent"],
    "deleteResource": ["name"],
    "enableStateResource": ["name", "enabled"],
    "isInGroup": ["group", "resource"],
    "getResources": [],
    "ownersGet": [],
}


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(ResourceTree(load_robot(default_robot_folder()).resources))


@pytest.fixture
def calls(ledger: Ledger) -> ResourceCalls:
    return ResourceCalls(LedgerFront(ledger))


@pytest.mark.requirement("RM-13")
def test_all_published_calls_have_their_parameters() -> None:
    found = {
        name: list(inspect.signature(call).parameters)[1:]
        for name, call in inspect.getmembers(ResourceCalls, inspect.isfunction)
        if name in SIGNATURES
    }
    assert found == SIGNATURES
    assert issubclass(ResourceCalls, ES2535273Calls)


@pytest.mark.requirement("RM-5", "RM-9")
def test_parent_and_child_exclude_each_other_between_requests(
    calls: ResourceCalls,
) -> None:
    calls.acquireResourcesTree(["Arms", "LHand"], "wave", "", 0)
    for name in ("LHand", "Left arm", "All motors"):
        with pytest.raises(NotGranted):
            calls.acquireResource(name, "grasp", "", 0)
    calls.releaseResources(["Arms"], "wave")
    calls.acquireResource("LHand", "grasp", "", 0)
    with pytest.raises(NotGranted):
        calls.waitForResourcesTree(["Arms"], "wave", "", 0)


@pytest.mark.requirement("RM-47", "RM-48")
def test_optional_call_returns_what_was_granted(calls: ResourceCalls) -> None:
    calls.acquireResource("LKneePitch", "walk", "", 0)
    wish = (["TTS", "Right arm"], "greet", "", 0, ["Left leg", "Right leg"])
    assert calls.waitForOptionalResourcesTree(*wish) == [
        "TTS",
        "Right arm",
        "Right leg",
    ]
    assert not calls.areResourcesOwnedBy(["LHipRoll"], "greet")
    calls.releaseResource("LKneePitch", "walk")
    assert calls.waitForOptionalResourcesTree(*wish) == [*wish[0], *wish[4]]
    assert calls.areResourcesOwnedBy(["Left leg"], "greet")
    assert calls.waitForOptionalResourcesTree(*wish) == [*wish[0], *wish[4]]
    with pytest.raises(NotGranted):
        calls.waitForOptionalResourcesTree(["TTS"], "sing", "", 0, ["Chest"])
    assert calls.isResourceFree("Chest")


def test_resource_is_free_if_no_part_of_it_is_held(
    calls: ResourceCalls, ledger: Ledger
) -> None:
    calls.acquireResource("HeadYaw", "look", "", 0)
    assert not calls.isResourceFree("Head")
    assert not calls.areResourcesFree(["HeadPitch", "All motors"])
    assert calls.areResourcesFree(["HeadPitch", "Arms"])
    ledger.freeze(["LHand"], "brokenArm", 0)
    assert not calls.isResourceFree("Left arm")
    ledger.add_owner(Owner(name="plan"), 0)
    ledger.request(Request(owner="plan", rates={"CPU": 60}), 0)
    assert calls.isResourceFree("CPU")
    ledger.request(Request(owner="plan", rates={"CPU": 40}), 0)
    assert not calls.isResourceFree("CPU")


@pytest.mark.requirement("RM-41", "RM-62")
def test_owners_include_virtual_ones(calls: ResourceCalls, ledger: Ledger) -> None:
    ledger.freeze(["Left leg"], "RobotModel", 0)
    calls.acquireResource("HeadYaw", "look", "", 0)
    owners = calls.ownersGet()
    assert owners.pop("HeadYaw") == ["look"]
    assert set(owners) == set(ledger.tree.leaves("Left leg"))
    assert all(those == ["RobotModel"] for those in owners.values())


@pytest.mark.requirement("RM-51", "RM-52")
def test_state_is_free_while_it_is_enabled(calls: ResourceCalls) -> None:
    assert not calls.isResourceFree("Stand")
    calls.enableStateResource("Stand", True)
    assert calls.checkStateResourceFree(["Stand"])
    calls.acquireResource("Stand", "walk", "", 0)
    calls.acquireResource("Stand", "wave", "", 0)
    assert calls.isResourceFree("Stand")
    calls.enableStateResource("Sit", True)
    assert (calls.isResourceFree("Stand"), calls.isResourceFree("Sit")) == (False, True)
    calls.enableStateResource("Stand", False)  # was not active: no change
    assert calls.isResourceFree("Sit")
    calls.enableStateResource("Sit", False)
    assert not calls.isResourceFree("Sit")
    with pytest.raises(BadInput, match="is not a state"):
        calls.enableStateResource("HeadYaw", True)


@pytest.mark.requirement("RM-15", "RM-60")
def test_resources_can_be_created_and_deleted(calls: ResourceCalls) -> None:
    calls.createResource("Toys", "")
    calls.createResourcesList(["ball", "cube"], "Toys")
    assert [node.name for node in calls.getResources().children][-1] == "Toys"
    assert calls.isInGroup("Toys", "ball")
    calls.acquireResource("Toys", "play", "", 0)
    assert calls.areResourcesOwnedBy(["ball", "cube"], "play")
    with pytest.raises(BadInput, match="ball"):
        calls.deleteResource("ball")
    calls.releaseResource("Toys", "play")
    calls.deleteResource("ball")
    with pytest.raises(UnknownName):
        calls.isResourceFree("ball")


def test_list_is_created_whole_or_not_at_all(calls: ResourceCalls) -> None:
    with pytest.raises(BadInput, match="'HeadYaw' already exists"):
        calls.createResourcesList(["ball", "HeadYaw"], "")
    with pytest.raises(UnknownName):
        calls.isResourceFree("ball")


def test_group_contains_its_descendants_but_not_itself(
    calls: ResourceCalls,
) -> None:
    assert calls.isInGroup("All motors", "LHand")
    assert calls.isInGroup("Legs", "LHipYawPitch")
    assert not calls.isInGroup("Left leg", "LHipYawPitch")
    assert not calls.isInGroup("Head", "Head")
    with pytest.raises(UnknownName, match="Did you mean 'Head'"):
        calls.isInGroup("Haed", "HeadYaw")


def test_string_instead_of_a_list_of_names_is_rejected(
    calls: ResourceCalls,
) -> None:
    for call in (
        lambda: calls.waitResources("TTS", "talk", "", 0),
        lambda: calls.acquireResourcesTree("TTS", "talk", "", 0),
        lambda: calls.waitForOptionalResourcesTree(["LHand"], "talk", "", 0, "TTS"),
        lambda: calls.releaseResources("TTS", "talk"),
        lambda: calls.areResourcesFree("TTS"),
        lambda: calls.areResourcesOwnedBy("TTS", "talk"),
        lambda: calls.createResourcesList("TTS", ""),
    ):
        with pytest.raises(BadInput, match="is the text 'TTS'; give a tuple of names"):
            call()
    assert calls.ownersGet() == {}
