"""Two programs that use only the calls of ES2535273 share one robot.

`Dance` and `Greet` use the calls of the robot's resource manager: take a resource by
name, receive a callback when another program requests it, release it. Neither knows
tokens, the ledger or the other program. Each runs in its own thread; a waiting thread
sleeps in its call.

The output shows that Greet waits until Dance reaches its next stable posture.
"""

import threading

from nao_testbed import Ledger, load_robot
from nao_testbed.controllers.arbitration import NotGranted, ResourceTree
from nao_testbed.controllers.arbitration.naoqi import ES2535273Calls
from nao_testbed.experiments.server.shared_ledger import SharedLedger


def say(words: str) -> None:
    """Print a line with a single write, because two threads print."""
    print(words + "\n", end="")


class Dance:
    """Program and its callback object."""

    def __init__(self) -> None:
        self.is_asked = threading.Event()

    def onResource(self, resource: str, owner: str) -> None:  # noqa: N802  known so
        """Record the request of another owner; `run` releases the resource later."""
        if not self.is_asked.is_set():
            say(f"{owner}: {resource} was requested; stable posture first")
        self.is_asked.set()  # returns None: keeps the resource, and releases it later

    def run(self, calls: ES2535273Calls, has_begun: threading.Event) -> None:
        """Dance until another owner requests a motor."""
        calls.waitForResource("All motors", "Dance", "onResource", 5)
        say("Dance: has all motors")
        has_begun.set()
        self.is_asked.wait(5.0)
        say("Dance: stands, releases all motors")
        calls.releaseResource("All motors", "Dance")


def greet(calls: ES2535273Calls) -> None:
    """Take speech and an arm together, or not at all."""
    try:
        calls.waitResources(["TTS", "Right arm"], "Greet", "", 0)
    except NotGranted as busy:
        say(f"Greet: first try: {busy.outcome.why}, nothing held")
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
