"""The ID of an order's group."""

from collections.abc import Container

from controllers.sync.orders.output_set import OutputSet
from controllers.sync.orders.transmitting import Transmitting
from controllers.sync.transmitter.sync_tag import GroupKey


def group_key(
    outputs: OutputSet,
    group: str | None,
    taken: Container[GroupKey | None],
    transmitter: Transmitting,
    tick: int,
) -> GroupKey | None:
    """Return the key of a group; None for independent outputs.

    Args:
        outputs: of the order; their preset is a part of the key (SY-17).
        group: ID that the sender gives; None: the name of the outputs, with a number
            behind it while a group of that ID is under way.
        taken: keys of orders under way.
        transmitter: knows the groups that it has.
        tick: now.
    """
    if not outputs.is_synchronous:
        return None
    if group is not None:
        return GroupKey(outputs.preset, group)
    count, key = 1, GroupKey(outputs.preset, outputs.name)
    while key in taken or transmitter.is_under_way(key, tick):
        count += 1
        key = GroupKey(outputs.preset, f"{outputs.name} {count}")
    return key
