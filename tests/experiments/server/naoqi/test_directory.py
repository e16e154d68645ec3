"""The service directory of all programs, and a robust listening socket."""

import socket
import time
from pathlib import Path
from typing import Any

import pytest

from nao_testbed.experiments.server.naoqi.naoqi_server import MAX_CLIENTS, MAX_SILENT

pytestmark = pytest.mark.slow(covers=True)  # a server and programs: processes

GREETER = """
    class Greeter:
        def greet(self, name):
            return "hello " + name
"""


def test_service_of_one_program_is_found_by_another(nao: Any) -> None:
    """Until its program ends; names are unique and ours cannot be replaced."""
    greeter = nao.start(f"""{GREETER}
    session.registerService("Greeter", Greeter())
    print("READY", flush=True)
    sys.stdin.read()
    """)
    assert greeter.stdout.readline().strip() == "READY"
    said, names, twice, ours = nao.run(f"""{GREETER}
    names = [one["name"] for one in session.services()]
    tell([session.service("Greeter").greet("you"), names,
          refused(lambda: session.registerService("Greeter", Greeter())),
          refused(lambda: session.registerService("ALLeds", Greeter()))])
    """)
    assert said == "hello you"
    assert {"Greeter", "ALMotion", "ALTracker"} <= set(names)
    assert len(names) == len(set(names))
    assert "already registered" in twice
    assert "already registered" in ours
    greeter.communicate("")
    gone, free = nao.run(f"""{GREETER}
    end = time.time() + 20
    while not refused(lambda: session.service("Greeter")) and time.time() < end:
        time.sleep(0.05)
    tell([refused(lambda: session.service("Greeter")),
          session.registerService("Greeter", Greeter()) > 0])
    """)
    assert "Cannot find service 'Greeter'" in gone
    assert free is True


def test_program_waits_for_the_service_of_another(nao: Any) -> None:
    waiting = nao.start("""
    print("READY", flush=True)
    session.waitForService("Late")
    tell(session.service("Late").greet("late"))
    """)
    assert waiting.stdout.readline().strip() == "READY"
    time.sleep(0.5)  # the service does not exist yet
    late = nao.start(f"""{GREETER}
    session.registerService("Late", Greeter())
    print("READY", flush=True)
    sys.stdin.read()
    """)
    assert nao.told(waiting) == "hello late"
    late.communicate("")


def test_silent_connections_do_not_block_others(nao: Any) -> None:
    host, port = nao.url.removeprefix("tcp://").split(":")
    n = MAX_SILENT + MAX_CLIENTS
    silent = [socket.create_connection((host, int(port))) for _ in range(n)]
    try:
        assert nao.run("tell(motion.ping())") is True
    finally:
        for one in silent:
            one.close()


def test_only_one_port_listens_while_a_program_is_connected(nao: Any) -> None:
    """On any other port, invalid messages would end the process."""
    table = Path(f"/proc/{nao.process.pid}/net/tcp")
    if not table.exists():
        pytest.skip("no list of sockets here")
    client = nao.start("""
    print("READY", flush=True)
    sys.stdin.read()
    tell(motion.ping())
    """)
    assert client.stdout.readline().strip() == "READY"
    own = {
        target.removeprefix("socket:[").removesuffix("]")
        for link in Path(f"/proc/{nao.process.pid}/fd").iterdir()
        if (target := str(link.readlink())).startswith("socket:")
    }
    rows = [line.split() for line in table.read_text("ascii").splitlines()[1:]]
    listening = {
        int(r[1].split(":")[1], 16) for r in rows if r[3] == "0A" and r[9] in own
    }
    assert listening == {int(nao.url.rpartition(":")[2])}
    assert nao.told(client) is True
