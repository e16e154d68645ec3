"""Two programs that know only the calls of ES2535273 meet on one robot.

`Dance` and `Greet` were written by people who do not know each other, with the calls of
the robot's resource manager: take by a name, be called when somebody else asks, give
back. Neither has seen a token or a ledger. Each runs in a thread of its own, and a
thread that waits simply sleeps in its call.

One sees that Greet waits until Dance has come to its next stable posture.
"""

import threading

from nao_testbed import Ledger, load_robot
from nao_testbed.controllers.arbitration import NotGranted, ResourceTree
from nao_testbed.controllers.arbitration.naoqi import ES2535273Calls
from nao_testbed.experiments.server.shared_ledger import SharedLedger


def say(words: str) -> None:
    """Print a line in one piece: two threads speak."""
    print(words + "\n", end="")


class Dance:
    """A program, and the object that has its callbacks."""

    def __init__(self) -> None:
        self.is_asked = threading.Event()

    def onResource(self, resource: str, owner: str) -> None:  # noqa: N802  known so
        """Answer somebody who asks for what it has."""
        if not self.is_asked.is_set():
            say(f"{owner}: somebody asks for {resource}; first to a stable posture")
        self.is_asked.set()  # it returns nothing: it keeps, and will release

    def run(self, calls: ES2535273Calls, has_begun: threading.Event) -> None:
        """Dance until it is asked to make room."""
        calls.waitForResource("All motors", "Dance", "onResource", 5)
        say("Dance: has all motors")
        has_begun.set()
        self.is_asked.wait(5.0)
        say("Dance: stands, and gives them back")
        calls.releaseResource("All motors", "Dance")


def greet(calls: ES2535273Calls) -> None:
    """Take speech and an arm together, or not at all."""
    try:
        calls.waitResources(["TTS", "Right arm"], "Greet", "", 0)
    except NotGranted as busy:
        say(f"Greet: tried once: {busy.outcome.why}, nothing is held")
    calls.waitResources(["TTS", "Right arm"], "Greet", "", 5)
    say("Greet: has speech and the right arm")
    calls.releaseResource("TTS", "Greet")
    calls.releaseResource("Right arm", "Greet")


def main() -> None:
    dance, has_begun = Dance(), threading.Event()
    with SharedLedger(Ledger(ResourceTree(load_robot().resources))) as front:
        calls = ES2535273Calls(front, services={"Dance": dance})
        program = threading.Thread(target=dance.run, args=(calls, has_begun))
        program.start()
        has_begun.wait(5.0)
        greet(calls)
        program.join()


if __name__ == "__main__":
    main()
