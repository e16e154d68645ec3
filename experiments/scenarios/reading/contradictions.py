"""Expectations that exclude each other: whatever the run does, one of them fails."""

from collections.abc import Iterable

from controllers.resources.resource_tree import ResourceTree
from experiments.scenarios.plan.expectations import AtTime, Expectation
from experiments.scenarios.reading.notes import Notes
from models.resource_node import ResourceKind
from models.yaml_lines import Place


def check_together(
    expectations: Iterable[tuple[Place, Expectation]], tree: ResourceTree, notes: Notes
) -> None:
    """Note two holders of one leaf in one slot, two states of a set, and such.

    Args:
        expectations: each with its place in the file.
        tree: of resources; only exclusive leaves have one holder.
        notes: gets the later one of two that exclude each other.
    """
    first: dict[tuple[int, str, str], tuple[int, object]] = {}
    for place, item in expectations:
        if not isinstance(item, AtTime):
            continue
        claims: list[tuple[str, str, object]] = [
            ("holds", leaf, owner)
            for leaf, owner in item.holders.items()
            if tree.node(leaf).kind is ResourceKind.EXCLUSIVE
        ]
        claims += [("state", tree.state_group(s), s) for s in item.states if s in tree]
        claims += [("running", name, True) for name in item.running]
        claims += [("not_running", name, False) for name in item.not_running]
        for key, what, claim in claims:
            about = "running" if key == "not_running" else key
            line, before = first.setdefault(
                (item.tick, about, what), (item.line, claim)
            )
            if before != claim and line != item.line:
                notes.add(
                    (*place, key),
                    f"impossible: {what!r} is {_words(key, claim)} here, and "
                    f"{_words(key, before)} at the same time in line {line}; keep one.",
                )


def _words(key: str, claim: object) -> str:
    if key == "holds":
        return "nobody's" if claim is None else f"held by {claim!r}"
    if key == "state":
        return f"{claim!r}"
    return "running" if claim else "not running"
