"""Clients that are killed, hang or send garbage do not affect others."""

import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from nao_testbed.experiments.server.naoqi.arguments import MAX_ITEMS
from nao_testbed.experiments.server.naoqi.client_session import CALL, HEADER, MAGIC
from tests.experiments.server.naoqi.conftest import TIMEOUT_S

pytestmark = pytest.mark.slow(covers=True)  # a server and programs: processes

PATIENCE_S = 20.0
HALF_A_MESSAGE = HEADER.pack(MAGIC, 1, 4, 0, CALL, 0, 0, 0, 8)


def test_killed_client_releases_its_joints(nao: Any) -> None:
    dead = nao.start("""
        session.service("ALResourceManager").acquireResource("Arms", "Lost", "", 1)
        motion.angleInterpolation("HeadYaw", 0.2, 500.0, True, _async=True)
        time.sleep(0.1)
        print("READY", flush=True)
        time.sleep(60)
    """)
    assert dead.stdout.readline().strip() == "READY"
    dead.kill()
    dead.communicate()
    free, tasks, angle = nao.run(f"""
        manager = session.service("ALResourceManager")
        end = time.time() + {PATIENCE_S}
        while not manager.areResourcesFree(["Arms", "Head"]) and time.time() < end:
            time.sleep(0.05)
        motion.angleInterpolation(["HeadYaw"], 0.1, 0.3, True)
        tell([manager.areResourcesFree(["Arms"]), motion.getTaskList(),
              motion.getAngles("HeadYaw", True)[0]])
    """)
    assert free is True
    assert tasks == []
    assert angle == pytest.approx(0.1, abs=0.03)


SIDE_BY_SIDE = 20
PER_CALL_S = 0.05
"""Upper limit on a busy machine."""
GARBAGE = """
    import random
    rng = random.Random(1)
    deep = 0
    for _ in range(40): deep = [deep]
    nothing = (None, [], {}, "", "Body", "Nose", -1, 1e308, float("inf"), True,
               float("nan"), [None], {"a": [1]}, deep, ["Body"] * 300, "x" * 5000,
               [[1.0, float("nan")]], list(range(3000)), [[[]]], b"123")
    services = [session.service(n) for n in ("ALMotion", "ALMemory", "ALLeds", "DCM",
        "ALTextToSpeech", "ALRobotPosture", "ALResourceManager", "ALBehaviorManager")]
    skip = {"say", "runBehavior", "goToPosture", "rest", "wakeUp", "applyPosture",
            "acquireResource", "acquireResourcesTree", "waitForResource", "rasta",
            "waitForResourcesTree", "waitForOptionalResourcesTree", "wait", "moveInit",
            "randomEyes", "rotateEyes", "walkInit", "exit"}
    methods = [(s, m) for s in services for m in s.getMethodList() if m not in skip]
    n_refused = n = 0
    while n < COUNT:
        calls = []
        for _ in range(min(SIDE_BY_SIDE, COUNT - n)):
            service, method = rng.choice(methods)
            args = [rng.choice(nothing) for _ in range(rng.randint(0, 6))]
            calls.append(lambda s=service, m=method, a=args:
                         s.call(m, *a, _async=True))
        n += len(calls)
        begun = []
        for call in calls:
            try:
                begun.append(call())
            except Exception:  # it cannot even be sent
                n_refused += 1
        for one in begun:
            try:
                one.value(60000)
            except Exception:
                n_refused += 1
    motion.setStiffnesses("Body", 1.0)
    tell([n_refused, n, motion.ping()])
"""


COUNT = 10_000 if os.environ.get("TESTBED_SCOPE") == "all" else 1_000


def test_garbage_is_refused_and_affects_no_other_client(nao: Any) -> None:
    """A thousand calls; TESTBED_SCOPE=all makes ten thousand, in a minute."""
    program = GARBAGE.replace("COUNT", str(COUNT))
    program = program.replace("SIDE_BY_SIDE", str(SIDE_BY_SIDE))
    n_refused, n, pings = nao.run(program, TIMEOUT_S + PER_CALL_S * COUNT)
    assert pings is True
    assert n == COUNT
    assert n_refused > 0.7 * COUNT
    reached = nao.run("""
        motion.killAll()
        tell([posture.goToPosture("StandInit", 1.0), posture.getPostureFamily()])
    """)
    assert reached == [True, "Standing"]


def test_huge_list_is_refused(nao: Any) -> None:
    said = nao.run(f"""
        tell(refused(lambda: memory.insertData("k", [0.0] * {MAX_ITEMS + 1})))
    """)
    assert str(MAX_ITEMS) in said


def test_invalid_bytes_end_only_their_connection(nao: Any) -> None:
    host, port = nao.url.removeprefix("tcp://").split(":")
    with socket.create_connection((host, int(port))) as one:
        one.sendall(b"GET / HTTP/1.1\r\n\r\n" * 100)
        time.sleep(0.2)
    assert nao.run("tell(motion.ping())") is True


REFUSED = """
import os
from nao_testbed.experiments.cli import main
try:
    main()  # no robot listens there
except SystemExit:
    pass
import pinocchio, qi
qi.logging.setLevel(qi.logging.FATAL)
for _ in range(3):  # `qi` drops an error now and then
    session = qi.Session()
    try:
        session.connect("tcp://127.0.0.1:1", _async=True).value(2000)
    except RuntimeError as error:
        print(error, flush=True)
os._exit(0)  # the end of a session can block
"""


def test_qi_reads_network_errors() -> None:
    """It crashes at many of them if Pinocchio, with another Boost, is loaded first."""
    done = run_python(REFUSED, "naoqi", "run", "--address", "naoqi://127.0.0.1:1")
    assert done.returncode == 0, done.stderr
    assert "Connection refused" in done.stdout


IN_WRONG_ORDER = """
import pinocchio
from nao_testbed.sim.naoqi import connect
connect("naoqi://127.0.0.1:1")
"""


def test_qi_after_pinocchio_is_refused() -> None:
    done = run_python(IN_WRONG_ORDER)
    assert "import nao_testbed.sim.naoqi` above the other imports" in done.stderr


@pytest.mark.parametrize(
    "user", ["server.naoqi.run_serve", "live.real_robot.run_robot"]
)
def test_qi_is_imported_first_by(user: str) -> None:
    done = run_python(f"""
import sys
import nao_testbed.experiments.{user}
print([name for name in sys.modules if name in {{"qi", "pinocchio"}}])
""")
    assert done.stdout.strip() == "['qi', 'pinocchio']", done.stderr


def run_python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a new process."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )


def test_clients_open_no_other_port(nao: Any) -> None:
    host, port = nao.url.removeprefix("tcp://").split(":")
    pid = nao.process.pid
    before = listening(pid)
    assert int(port) in before
    with ExitStack() as opened:
        for _ in range(SIDE_BY_SIDE):
            one = socket.create_connection((host, int(port)))
            opened.enter_context(one).sendall(HALF_A_MESSAGE)
        assert nao.run("tell(motion.ping())") is True
        end = time.monotonic() + PATIENCE_S
        while listening(pid) != before and time.monotonic() < end:
            time.sleep(0.1)
        assert listening(pid) == before


def listening(pid: int) -> set[int]:
    """Return the ports on which a process listens (Linux)."""
    sockets = {str(one.readlink()) for one in Path(f"/proc/{pid}/fd").iterdir()}
    rows = Path(f"/proc/{pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    listens = "0A"
    return {
        int(address.rpartition(":")[2], 16)
        for _, address, _, state, *rest in map(str.split, rows)
        if state == listens and f"socket:[{rest[5]}]" in sockets
    }
