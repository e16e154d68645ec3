"""The way from one posture to another through the transitions of DB2 (SY-19, SY-20)."""

import heapq

from models.library import Library, Transition


def find_way(library: Library, start: str, end: str) -> tuple[Transition, ...] | None:
    """Return the transitions that lead to a posture in the shortest time.

    Of several ways that take equally long, that with the fewest transitions, then that
    whose transitions stand first in DB2.

    Args:
        library: its transitions and their motions.
        start: posture in which the robot is.
        end: posture in which it shall be.

    Returns:
        The transitions in their order, none if it is there; None where no way leads.
    """
    ways: list[tuple[float, int, tuple[int, ...], str]] = [(0.0, 0, (), start)]
    reached: set[str] = set()
    while ways:
        time_s, count, way, posture = heapq.heappop(ways)
        if posture == end:
            return tuple(library.transitions[i] for i in way)
        if posture in reached:
            continue
        reached.add(posture)
        for i, step in enumerate(library.transitions):
            if step.start == posture:
                total_s = time_s + library.motion(step.motion).length_s
                heapq.heappush(ways, (total_s, count + 1, (*way, i), step.end))
    return None


def joints_to(library: Library, end: str) -> tuple[str, ...]:
    """Return the joints that some way to a posture moves, from wherever."""
    starts = dict.fromkeys(step.start for step in library.transitions)
    ways = (find_way(library, start, end) or () for start in starts)
    motions = (library.motion(step.motion) for way in ways for step in way)
    return tuple(dict.fromkeys(joint for motion in motions for joint in motion.joints))
