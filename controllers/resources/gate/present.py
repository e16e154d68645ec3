"""The set-points in force, by the leaves that command them."""

from collections.abc import Iterator, Mapping, Sequence

from controllers.resources.gate.device_map import JointLeaf
from controllers.resources.gate.outputs import Outputs


class PresentTargets(Mapping[str, float]):
    """Leaf of a motor to its set-point in force, in rad: what a motion starts from.

    A read-only view of what the gate wrote last; joints on one motor obey the leading
    one.
    """

    __slots__ = ("_leads", "_outputs")

    def __init__(self, outputs: Outputs, motors: Sequence[JointLeaf]) -> None:
        """Look at the outputs of a gate."""
        self._outputs = outputs
        self._leads = {leaf.name: int(leaf.joints[0]) for leaf in motors}

    def __getitem__(self, leaf: str) -> float:
        """Return the set-point of one motor's leaf, in rad."""
        return float(self._outputs.in_force[self._leads[leaf]])

    def __iter__(self) -> Iterator[str]:
        """Go through the leaves."""
        return iter(self._leads)

    def __len__(self) -> int:
        """Return the number of the leaves."""
        return len(self._leads)
