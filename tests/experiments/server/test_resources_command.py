"""The command `nao-testbed resources`: processes, streams, exit status."""

import json
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.experiments.cli import main
from nao_testbed.experiments.server.link import ServerLink
from nao_testbed.experiments.server.server import ReservationServer
from nao_testbed.experiments.server.service.address import ServerCfg
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.models.system import END_SIGNALS
from tests.experiments.command.helpers import Ran
from tests.experiments.server.helpers import Terminal, eventually, small_tree

Start = Callable[..., Terminal]
Here = Callable[..., Ran]
MakeServer = Callable[..., ReservationServer]


@pytest.fixture
def here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Here]:
    """Return a function that runs a command in this process until it ends."""
    handler = signal.getsignal(signal.SIGTERM)
    monkeypatch.delenv("NAO_TESTBED_SECRET", raising=False)
    monkeypatch.delenv("NAO_TESTBED_URL", raising=False)

    def run(*words: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["nao-testbed", "resources", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        status = end.value.code or 0
        assert isinstance(status, int)
        assert "Traceback" not in said.err
        return Ran(status=status, out=said.out, err=said.err)

    yield run
    signal.signal(signal.SIGTERM, handler)


@pytest.mark.slow
@pytest.mark.requirement("RM-59", "RM-61", "RM-63")
def test_second_terminal_times_out_while_ball_is_held(
    terminal: Start, here: Here
) -> None:
    """One holds the ball, the other times out; then the ball is released."""
    server = terminal("resources serve --port 0 --object ball")
    url = server.line()
    one = terminal(f"resources take ball --owner one --url {url}")
    token = one.line()
    Token.from_text(token)
    two = terminal(f"resources take ball --owner two --timeout 0.5 --url {url}")
    with ServerLink(url) as link:

        def has_waiter() -> bool:
            rows = {row.name: row for row in link.snapshot().resources}
            return bool(rows["ball"].waiters) or two.process.poll() is not None

        eventually(has_waiter)
        status, out, err = two.end()
        assert (status, out) == (1, "")
        assert "timed_out" in err
        assert "ball: one" in err
        assert here("release", token, "--url", url).status == 0
        assert one.end() == (0, "", "")
        late = here("release", token, "--url", url)
        assert late.status == 1
        assert "RELEASED" in late.err
        rows = {row.name: row for row in link.snapshot().resources}
        assert rows["ball"].holders == ()
    os.kill(server.process.pid, signal.SIGINT)
    status, out, err = server.end()
    assert (status, out) == (0, "")
    assert err.startswith("epoch 1, ")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, *END_SIGNALS])
def test_signal_releases_held_resources(
    terminal: Start, server: ReservationServer, number: signal.Signals
) -> None:
    holder = terminal(f"resources take ball --url {server.url}")
    assert holder.line()
    holder.process.send_signal(number)
    assert holder.end() == (0, "", "")
    with ServerLink(server.url) as link:
        rows = {row.name: row for row in link.snapshot().resources}
        assert rows["ball"].holders == ()


def test_loss_ends_the_command_with_its_cause(
    here: Here, server: ReservationServer, front: SharedLedger
) -> None:
    def freeze() -> None:
        with front.step() as (ledger, tick):
            if ledger.authorise(None, "HeadYaw") is not None and _holders(front):
                front.on_change.remove(freeze)
                ledger.freeze(["HeadYaw"], "hotEngine", tick)

    front.on_change.append(freeze)
    ran = here("take", "Head", "--url", server.url)
    assert ran.status == 1
    assert ran.err == "error: lost: HeadYaw, HeadPitch (frozen, by hotEngine)\n"


def _holders(front: SharedLedger) -> list[str]:
    rows = front.snapshot().resources
    return [h.owner for row in rows for h in row.holders]


def test_holding_for_a_time_ends_by_itself(
    here: Here, server: ReservationServer, front: SharedLedger
) -> None:
    handlers = [signal.getsignal(n) for n in END_SIGNALS]
    ran = here("take", "ball", "--for", "0.1", "--url", server.url)
    assert (ran.status, ran.err) == (0, "")
    assert handlers == [signal.getsignal(n) for n in END_SIGNALS]
    Token.from_text(ran.out.strip())
    assert not _holders(front)


@pytest.mark.requirement("RM-62", "RM-63")
def test_list_shows_owner_and_waiters(
    here: Here, server: ReservationServer, front: SharedLedger
) -> None:

    for name in ("MoveHead1", "MoveHead2", "MoveHead3"):
        front.add_owner(Owner(name=name, timeout_s=60.0))
        front.ask(Request(owner=name, resources=("Head",)))
    front.ask(Request(owner="MoveHead1", rates={"CPU": 12.5}))
    with front.step() as (ledger, tick):
        ledger.set_state("State", "Stand", tick)
        ledger.freeze(["ball"], "lostBall", tick)
    ran = here("list", "--url", server.url)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "root",
        "  State",
        "    Stand      (Activated)",
        "    Sit",
        "  Head         -> MoveHead1 (use)  Waiter: MoveHead2, MoveHead3  2",
        "    HeadYaw    -> MoveHead1 (use)  Waiter: MoveHead2, MoveHead3  2",
        "    HeadPitch  -> MoveHead1 (use)  Waiter: MoveHead2, MoveHead3  2",
        "  Computing",
        "    CPU        12.5 % used  -> MoveHead1 (use 12.5 %)",
        "  Objects      -> lostBall (unavailable)",
        "    ball       -> lostBall (unavailable)",
    ]
    busy = here("list", "--busy", "--url", server.url).out
    assert "Sit" not in busy
    assert "Stand" in busy


def test_list_as_json_is_the_answer_of_the_server(
    here: Here, server: ReservationServer
) -> None:
    data = json.loads(here("list", "--json", "-", "--url", server.url).out)
    names = [row["name"] for row in data["resources"]]
    assert names[0] == "root"
    assert "ball" in names


def test_optional_resources_and_rates_can_be_taken(
    here: Here, server: ReservationServer, front: SharedLedger
) -> None:
    with front.step() as (ledger, tick):
        ledger.freeze(["HeadYaw"], "hotEngine", tick)
    words = ("--optional", "HeadYaw", "--rate", "CPU=10", "--for", "0")
    ran = here("take", "ball", *words, "--url", server.url)
    assert (ran.status, ran.err) == (0, "not free: HeadYaw\n")


@pytest.mark.slow(covers=True)
def test_part_of_a_token_can_be_released(
    here: Here, server: ReservationServer, terminal: Start, front: SharedLedger
) -> None:
    holder = terminal(f"resources take Head --url {server.url}")
    token = holder.line()
    assert here("release", token, "HeadYaw", "--url", server.url).status == 0
    assert len(_holders(front)) == 1


def test_resource_can_be_added(
    here: Here, server: ReservationServer, front: SharedLedger
) -> None:
    words = ("add", "second ball", "--parent", "Objects", "--url", server.url)
    assert here(*words).status == 0
    assert "second ball" in [row.name for row in front.snapshot().resources]
    assert here(*words).status == 2


# -- JSON output -----------------------------------------------------------------------


@pytest.mark.slow(covers=True)
def test_json_output_contains_the_token(
    terminal: Start, here: Here, server: ReservationServer
) -> None:
    """It is printed at the grant; a program then releases a part, and the rest."""
    line = "resources take ball HeadYaw --owner one --optional HeadPitch --json -"
    holder = terminal(f"{line} --url {server.url}")
    lines = [holder.line()]
    while lines[-1] != "}":
        lines.append(holder.line())
    taken = json.loads("".join(lines))
    token = taken.pop("token")
    assert taken == {
        "experiment": "resources take",
        "owner": "one",
        "outcome": "granted",
        "why": None,
        "resources": ["HeadPitch", "HeadYaw", "ball"],
        "missing": [],
        "blockers": {},
    }
    part = here("release", token, "ball", "--json", "-", "--url", server.url)
    assert part.status == 0
    public = ".".join(token.split("-")[:2])
    assert json.loads(part.out) == {
        "experiment": "resources release",
        "token": public,
        "resources": ["ball"],
    }
    whole = here("release", token, "--json", "-", "--url", server.url)
    assert json.loads(whole.out)["resources"] is None
    assert holder.end() == (0, "", "")


def test_json_output_names_the_blockers(
    here: Here, server: ReservationServer, front: SharedLedger
) -> None:
    front.add_owner(Owner(name="one", timeout_s=60.0))
    front.ask(Request(owner="one", resources=("ball",)))
    words = ("take", "ball", "--timeout", "0", "--owner", "two", "--json", "-")
    ran = here(*words, "--url", server.url)
    assert ran.status == 1
    told = json.loads(ran.out)
    assert (told["token"], told["resources"]) == (None, [])
    assert told["outcome"] != "granted"
    assert told["blockers"] == {"ball": ["one"]}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("add cup --parent Objects", {"resource": "cup", "parent": "Objects"}),
        ("revoke ball --priority 3", {"resources": ["ball"], "priority": 3}),
        ("give-back", {"resources": None}),
    ],
)
def test_json_output_describes_the_action(
    here: Here, server: ReservationServer, words: str, told: dict[str, object]
) -> None:
    ran = here(*words.split(), "--json", "-", "--url", server.url)
    assert (ran.status, ran.err) == (0, "")
    name = f"resources {words.split(maxsplit=1)[0]}"
    assert json.loads(ran.out) == {"experiment": name, **told}


def test_json_file_is_checked_before_any_action(
    here: Here, server: ReservationServer, front: SharedLedger
) -> None:
    words = ("add", "cup", "--parent", "Objects", "--url", server.url)
    assert here(*words, "--json", "no/where.json").status == 2
    assert "cup" not in [row.name for row in front.snapshot().resources]


@pytest.mark.parametrize("is_there", [False, True])
def test_file_with_a_token_is_readable_by_its_user_only(
    here: Here, server: ReservationServer, tmp_path: Path, is_there: bool
) -> None:
    rules, file = tmp_path / "rules.yaml", tmp_path / "token.json"
    rules.write_text("behaviours: [{name: look, needs: [HeadYaw]}]\n", "utf-8")
    url = ("--url", server.url)
    assert here("upload", str(rules), *url).status == 0
    before = os.umask(0)
    try:
        for words in (("take", "ball", "--for", "0"), ("start", "look")):
            file.unlink(missing_ok=True)
            if is_there:
                file.write_text("a longer text than before\n" * 100, "utf-8")
                file.chmod(0o666)
            line = (*words, "--json", str(file), *url)
            if is_there:
                assert here(*line).status == 2
                line += ("--overwrite",)
            assert here(*line).status == 0
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, words
            assert json.loads(file.read_text("utf-8"))["token"]
        assert here("take", "ball", "--for", "0", "--json", "/dev/null", *url).err == ""
        assert stat.S_IMODE(Path("/dev/null").stat().st_mode) == 0o666
    finally:
        os.umask(before)


# -- bad input -------------------------------------------------------------------------

SERVE = "serve --port 0 --state {tmp}/epoch "
BAD = {
    "list --url nonsense": "malformed",
    "take --url {url}": "requests nothing",
    "take bal --url {url}": "Did you mean 'ball'?",
    "take ball ball --url {url}": "twice",
    "take ball --timeout -1 --url {url}": "--timeout = -1.0",
    "take ball --for -1 --url {url}": "--for = -1.0",
    "take ball --priority 10 --url {url}": "--priority = 10",
    "take ball --policy stopp --url {url}": "Did you mean 'stop'?",
    "take ball --ttl 0 --url {url}": "--ttl = 0.0",
    "take --rate CPU --url {url}": "NAME=PERCENT",
    "take --rate CPU=101 --url {url}": "rates.CPU is '101.0'",
    "release 12 --url {url}": "malformed",
    "list --secret-file {tmp}/none --url {url}": "cannot be read",
    "list --secret-file {tmp}/open --url {url}": "chmod 600",
    "list --secret-file {tmp}/empty --url {url}": "is empty",
    SERVE + "--host 0.0.0.0": "shared secret",
    SERVE + "--host 0.0.0.0 --secret-file {tmp}/short": "at least 8",
    SERVE + "--host 203.0.113.7 --secret-file {tmp}/good": "cannot listen",
    SERVE + "--port 70000": "--port = 70000",
    "serve --state {tmp}/epoch --port {port}": "another server",
    "serve --port 0 --state {tmp}/bad": "count of restarts",
    "serve --port 0 --state {tmp}/good/epoch": "cannot be used",
    SERVE + "--preemption on": "Preemption 'on'",
    SERVE + "--robot {tmp}": "file is missing",
    SERVE + "--body H26": "H25",
    SERVE + "--resources {tmp}/none": "is missing",
    SERVE + "--resources {tmp}/circle.yaml": "circle.yaml:4: cycle: A in B in A",
    SERVE + "--resources {tmp}/twice.yaml": "twice.yaml:3: resource 'ball' is in the",
    SERVE + "--resources {tmp}/unknown.yaml": "Did you mean 'ball'?",
    SERVE
    + "--resources {tmp}/orphan.yaml": "orphan.yaml:6: resource 'cup' has no parent",
    SERVE + "--resources {tmp}/class.yaml": "Did you mean 'Goal'?",
    SERVE + "--resources {tmp}/device.yaml": "belongs to no robot",
    SERVE + "--resources {tmp}/circle.yaml --body H25": "leave out --robot",
    SERVE + "--object TTS": "TTS",
}
FILES = {
    "open": ("correct horse", 0o644),
    "good": ("correct horse", 0o600),
    "short": ("horse", 0o600),
    "empty": ("", 0o600),
    "bad": ("seven", 0o600),
    "circle.yaml": (
        "root: root\ncomposites:\n  root: [b]\n  A: [B]\n  B: [A]\nleaves: {b: {}}\n",
        0o600,
    ),
    "twice.yaml": (
        "root: root\ncomposites:\n  root: [ball, ball]\nleaves:\n  ball: {}\n",
        0o600,
    ),
    "unknown.yaml": (
        "root: root\ncomposites:\n  root: [bal]\nleaves:\n  ball: {}\n",
        0o600,
    ),
    "orphan.yaml": (
        "root: root\ncomposites:\n  root: [ball]\nleaves:\n  ball: {}\n  cup: {}\n",
        0o600,
    ),
    "class.yaml": (
        "root: root\ncomposites:\n  root: [A]\n"
        "instances:\n  A: {class: Gaol, prefix: x}\nclasses:\n  Goal: [b]\n",
        0o600,
    ),
    "device.yaml": (
        "root: root\ncomposites:\n  root: [eye]\nleaves:\n  eye: {leds: [A]}\n",
        0o600,
    ),
}


@pytest.fixture(scope="module")
def lasting() -> Iterator[ReservationServer]:
    """One server for all tests: bad input changes nothing."""
    with (
        SharedLedger(Ledger(small_tree())) as front,
        ReservationServer(front, ServerCfg(port=0)) as server,
    ):
        yield server


@pytest.mark.parametrize("line", BAD)
def test_bad_input_is_one_message_and_exit_2(
    here: Here, lasting: ReservationServer, tmp_path: Path, line: str
) -> None:
    for name, (text, mode) in FILES.items():
        path = tmp_path / name
        path.write_text(text, "utf-8")
        path.chmod(mode)
    port = lasting.url.rpartition(":")[2]
    words = line.format(url=lasting.url, tmp=tmp_path, port=port).split()
    ran = here(*words)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert BAD[line] in ran.err
    assert not (tmp_path / "epoch").exists(), "bad input must not use an epoch"


@pytest.mark.parametrize("line", ["list", "take ball", "release 1-1-0123456789abcdef"])
def test_missing_server_is_one_message_and_exit_1(here: Here, line: str) -> None:
    ran = here(*line.split(), "--url", "http://127.0.0.1:1")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("error: no reservation server answers at")


def test_other_kind_of_server_is_detected(
    here: Here, server: ReservationServer
) -> None:
    ran = here("list", "--url", f"{server.url}/nothing")
    assert ran.status == 2
    assert "there is no '/nothing" in ran.err


def test_owner_needs_a_name(here: Here, server: ReservationServer) -> None:
    ran = here("take", "ball", "--owner", "", "--for", "0", "--url", server.url)
    assert (ran.status, ran.out) == (2, "")
    assert "name is ''" in ran.err


def test_control_characters_in_names_are_not_printed(
    here: Here,
    front: SharedLedger,
    server: ReservationServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Our server refuses such names, but another server might not."""
    for module in ("requests", "manager.owner_calls"):
        monkeypatch.setattr(
            f"nao_testbed.controllers.arbitration.{module}.check_name",
            lambda name, what: name,
        )
    front.add_owner(Owner(name="a\x1b[31m\x9b5m"))
    front.take(Request(owner="a\x1b[31m\x9b5m", resources=("ball",)))
    shown = here("list", "--url", server.url).out
    late = here("take", "ball", "--timeout", "0", "--url", server.url).err
    assert late.startswith("error: ")
    for text in (shown, late):
        assert "a\ufffd[31m\ufffd5m" in text
        assert "\x1b" not in text
        assert "\x9b" not in text


def test_missing_extra_is_named(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ran = here("list")
    assert ran.status == 2
    assert "pip install '.[server]'" in ran.err


def test_secret_is_read_from_a_file_or_the_environment(
    here: Here,
    make_server: MakeServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = make_server(secret="correct horse")
    refused = here("list", "--url", server.url)
    assert refused.status == 1
    assert "shared secret is missing" in refused.err
    secret = tmp_path / "secret"
    secret.write_text("correct horse\n", "utf-8")
    secret.chmod(0o600)
    assert here("list", "--url", server.url, "--secret-file", str(secret)).status == 0
    monkeypatch.setenv("NAO_TESTBED_SECRET", "correct horse")
    assert here("list", "--url", server.url).status == 0


# -- sources of the resource tree ------------------------------------------------------


@pytest.mark.slow(covers=True)
@pytest.mark.requirement("RM-4", "RM-41", "RM-60")
def test_bodies_files_and_objects_define_the_tree(
    terminal: Start, tmp_path: Path
) -> None:
    (tmp_path / "field.yaml").write_text(
        "root: field\nclasses:\n  Goal: [post, net]\n"
        "instances:\n  Left goal: {class: Goal, prefix: l-}\n"
        "composites:\n  field: [ball, Left goal, CPU]\n"
        "leaves:\n  ball: {}\n  l-post: {}\n  l-net: {}\n  CPU: {kind: cumulative}\n",
        "utf-8",
    )
    robot = terminal("resources serve --port 0 --body T14 --object ball")
    field = terminal("resources serve --port 0 --resources field.yaml")
    with ServerLink(robot.line()) as link:
        rows = {row.name: row for row in link.snapshot().resources}
    legs = rows["Legs"].virtual
    assert [(v.by, v.is_total) for v in legs] == [("RobotModel", True)]
    assert rows["Head"].virtual == ()
    assert rows["ball"].parent == "Objects"
    with ServerLink(field.line()) as link:
        names = [row.name for row in link.snapshot().resources]
        assert names == ["field", "ball", "Left goal", "l-post", "l-net", "CPU"]
        assert link.epoch in {1, 2}, "both use one file, with different epochs"
