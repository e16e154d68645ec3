"""Helpers shared by the tests of the reservation server."""

import json
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.models.resources import ResourceKind, ResourceNode

AT_MOST_S = 60.0
"""Longest wait for a quick event on a busy machine."""


def small_tree() -> ResourceTree:
    """Return a tree with a head, a state, a processor and a ball."""

    def node(name: str, *children: ResourceNode) -> ResourceNode:
        return ResourceNode(name=name, children=children)

    def states(*names: str) -> Iterator[ResourceNode]:
        return (ResourceNode(name=n, kind=ResourceKind.STATE) for n in names)

    cpu = ResourceNode(name="CPU", kind=ResourceKind.CUMULATIVE)
    return ResourceTree(
        node(
            "root",
            node("State", *states("Stand", "Sit")),
            node("Head", node("HeadYaw"), node("HeadPitch")),
            node("Computing", cpu),
            node("Objects", node("ball")),
        )
    )


@dataclass(frozen=True)
class Terminal:
    """A command that runs in a separate process."""

    process: "subprocess.Popen[str]"

    def line(self) -> str:
        """Return the next line of stdout, or an empty string at the end."""
        assert self.process.stdout is not None
        found: list[str] = []
        reader = threading.Thread(
            target=lambda: found.append(self.process.stdout.readline()),  # type: ignore[union-attr]
            daemon=True,
        )
        reader.start()
        reader.join(AT_MOST_S)
        assert found, "no output in time"
        return found[0].strip()

    def end(self) -> tuple[int, str, str]:
        """Wait for the end; return exit status, stdout and stderr."""
        out, err = self.process.communicate(timeout=AT_MOST_S)
        return self.process.returncode, out, err


def eventually(holds: Callable[[], bool], within_s: float = AT_MOST_S) -> float:
    """Poll until a condition holds; return the elapsed seconds.

    For state without a notification, such as another process or a browser.
    """
    begin = time.monotonic()
    while not holds():
        assert time.monotonic() < begin + within_s, "the condition never became true"
        time.sleep(0.01)
    return time.monotonic() - begin


def register(http: httpx.Client, name: str, **data: object) -> dict[str, str]:
    """Register an owner; return the headers for its calls."""
    answer = http.post("/owners", json={"name": name, **data})
    assert answer.status_code == 201, answer.text
    return {"Owner-Key": answer.json()["key"]}


def ask(http: httpx.Client, key: dict[str, str], *names: str, **data: object) -> Any:
    body = {"resources": names, "timeout_s": 0.0, **data}
    answer = http.post("/owner/requests", json=body, headers=key)
    assert answer.status_code == 200, answer.text
    return answer.json()


def picture(http: httpx.Client) -> Any:
    """Return the list without values that change with time alone."""
    data = http.get("/resources").json()
    text = json.dumps([data["epoch"], data["resources"], data["owners"]])
    return re.sub(r'"(held|waited|left)_s": [\d.]+', "", text)
