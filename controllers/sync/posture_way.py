"""The way from one posture to another through the transitions of DB2 (SY-19, SY-20)."""

import heapq

from models.library import Library, Transition


def find_way(library: Library, start: str, end: str) -> tuple[Transition, ...] | None:
    """Return the transitions that lead to a posture in the shortest time.

    Of several that take equally long, the one with fewer motions, then the one whose
    transitions stand first in DB2.

    Args:
        library: its transitions and their motions.
        start: posture in which the robot is.
        end: posture in which it shall be.

    Returns:
        The transitions in their order, none if it is there; None where no way leads there.
    """
    heap: list[tuple[float, tuple[int, ...], str]] = [(0.0, (), start)]
    found: set[str] = set()
    while heap:
        time_s, way, posture = heapq.heappop(heap)
        if posture == end:
            return tuple(library.transitions[i] for i in way[1:])
        if posture in found:
            continue
        found.add(posture)
        for i, step in enumerate(library.transitions):
            if step.start == posture and step.end not in found:
                length_s = library.motion(step.motion).length_s
                # The first number is the count of motions: fewer win a tie.
                heapq.heappush(
                    heap, (time_s + length_s, (len(way) or 1, *way[1:], i), step.end)
                )
    return None
