"""Share a robot among behaviours, and list holders and waiting owners.

`greet` takes speech and the right arm together or not at all, and the legs only if they
are free. `dance` stops on demand. `guard` holds the head for its child `look`; one
child uses a resource at a time.
"""

from nao_testbed import Ledger, Owner, Request, load_robot
from nao_testbed.controllers.arbitration import (
    ResourceTree,
    StopOnDemand,
    take_snapshot,
)
from nao_testbed.experiments.server.messages import SnapshotData
from nao_testbed.experiments.server.run_take import list_lines


def main() -> None:
    ledger = Ledger(ResourceTree(load_robot().resources))
    ledger.set_state("State", "Stand", tick=0)
    ledger.add_owner(Owner(name="dance", policy=StopOnDemand()), tick=0)
    ledger.add_owner(Owner(name="guard"), tick=0)
    ledger.add_owner(Owner(name="look", parent="guard"), tick=0)
    ledger.add_owner(Owner(name="greet"), tick=0)
    ledger.add_owner(Owner(name="walk"), tick=0)

    requests = (
        Request(owner="walk", resources=("Legs", "Stand")),
        Request(owner="dance", resources=("Arms",)),
        Request(owner="guard", resources=("Head",)),
        Request(owner="look", resources=("HeadYaw",)),  # part of its parent's resources
        Request(owner="greet", resources=("TTS", "Right arm"), optional=("Legs",)),
        Request(owner="walk", resources=("Head",)),  # waits for look and guard
    )
    for request in requests:
        outcome = ledger.request(request, tick=0).outcome
        said = outcome.kind if outcome else "waits"
        missing = outcome.missing if outcome else ()
        without = f", without {', '.join(missing)}" if missing else ""
        print(f"{request.owner}: {', '.join(request.resources)}: {said}{without}")
    print()

    snapshot = SnapshotData.of(take_snapshot(ledger), ledger.cfg.tick_s)
    for line in list_lines(snapshot, only_busy=True):
        print(line)


if __name__ == "__main__":
    main()
