"""Which joints a table or a figure shows of a heat experiment."""

from experiments.standing.published import LEG_JOINTS, PUBLISHED
from experiments.standing.results import ArmResult, HeatResult, JointResult

MOST_ROWS = 10
"""Joints shown of a robot whose legs are not those of the document."""


def has_document_legs(result: HeatResult) -> bool:
    """Does the robot have the legs that the document draws?"""
    return all(
        arm.left_leg_rise_k is not None and arm.right_leg_rise_k is not None
        for arm in result.arms.values()
    )


def why_not_beside(result: HeatResult) -> str | None:
    """Return why no published number is shown, where one could be looked for."""
    is_asked = has_document_legs(result) and not PUBLISHED.keys().isdisjoint(
        result.arms
    )
    return result.not_comparable if is_asked else None


def shown_joints(result: HeatResult) -> tuple[str, ...]:
    """Return the joints to look at: the document's ten, or the hottest ones."""
    if has_document_legs(result):
        return tuple(side + joint for side in "RL" for joint in LEG_JOINTS)
    arms = list(result.arms.values())
    names = list(dict.fromkeys(name for arm in arms for name in arm.joints))

    def hottest_first(name: str) -> float:
        ends = [arm.joints[name].end_degc for arm in arms if name in arm.joints]
        return -max(ends)

    return tuple(sorted(names, key=hottest_first)[:MOST_ROWS])


def hottest(arm: ArmResult) -> tuple[str, JointResult]:
    """Return the joint with the highest temperature at the end."""
    return max(arm.joints.items(), key=lambda item: item[1].end_degc)
