"""NAOqi's names of joints, chains and collections, mapped to the robot's joints.

Angles are in rad and hands from 0 (closed) to 1 (open) on both sides, so that only
names and orders differ: `Body` lists the head, the left arm, the left leg, the right
leg, the right arm [naoqi-api]; our robot has the arms first.
"""

from collections.abc import Iterable, Sequence

from nao_testbed.models import BadInput, Robot, UnknownName

CHAINS = ("Head", "LArm", "LLeg", "RLeg", "RArm")
WHOLE = ("Body", "Joints", "JointActuators", "Actuators")


class BodyNames:
    """Names of one robot's joints and chains."""

    def __init__(self, robot: Robot) -> None:
        """Read the robot's groups."""
        self.robot = robot
        self.chains = {c: robot.groups[c] for c in CHAINS if c in robot.groups}
        body = [joint for chain in self.chains.values() for joint in chain]
        self.body = tuple(body) or robot.joint_names
        groups = {"Arms": ("LArm", "RArm"), "Legs": ("LLeg", "RLeg")}
        self._groups: dict[str, tuple[str, ...]] = {
            **self.chains,
            **{
                name: tuple(j for c in chains for j in self.chains.get(c, ()))
                for name, chains in groups.items()
            },
            **dict.fromkeys(WHOLE, self.body),
        }

    def joints(self, names: Iterable[str]) -> list[str]:
        """Return the joints of names, with expanded chains.

        Raises:
            UnknownName: the joint, chain or collection does not exist.
            BadInput: there is no name.
        """
        found: list[str] = []
        for name in names:
            if name in self._groups:
                found += self._groups[name]
            elif name in self.robot.joint_names:
                found.append(name)
            else:
                known = [*self._groups, *self.body]
                raise UnknownName("Joint or chain", name, known, "the robot")
        if not found:
            raise BadInput("no joint was given; give a joint, a chain or Body.")
        return found

    def indices(self, joints: Sequence[str]) -> list[int]:
        """Return the indices of joints in the robot's arrays."""
        return [self.robot.joint_index(joint) for joint in joints]

    def max_speed(self, joint: str) -> float:
        """Return the maximum speed of a joint in rad/s."""
        return self.robot.joints[self.robot.joint_index(joint)].max_velocity

    def chain_joints(self, name: str) -> tuple[str, ...]:
        """Return the joints of a chain or group; an unknown one has none."""
        return self._groups.get(name, ())

    def spread(self, what: str, values: list[float] | float, n: int) -> list[float]:
        """Return one value per joint, from one value for all or one per joint.

        Raises:
            BadInput: the number of values is neither 1 nor the number of joints.
        """
        if isinstance(values, float):
            return [values] * n
        if len(values) == 1:
            return values * n
        if len(values) != n:
            raise BadInput(
                f"{what} has {len(values)} values for {n} joints; give {n}, or one."
            )
        return values

    def clip(self, joint: str, angle: float) -> float:
        """Return an angle within the range of a joint."""
        one = self.robot.joints[self.robot.joint_index(joint)]
        return min(max(angle, one.lower), one.upper)
