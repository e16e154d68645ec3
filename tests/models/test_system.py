"""Each branch of the module, with functions that some systems lack removed."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import pytest

from nao_testbed.models import system
from nao_testbed.models.files import write_secret
from tests.like_windows import windows_files

pytest.importorskip("fcntl", reason="what there is elsewhere is taken away")
assert sys.platform == "linux", "for mypy"


@pytest.fixture(params=["flock", "locking"])
def locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "locking":
        monkeypatch.setattr(system, "_fcntl", None)
        monkeypatch.setattr(system, "_msvcrt", windows_files)


def test_a_file_lock_is_held_until_the_file_is_closed(
    locks: None, tmp_path: Path
) -> None:
    path = tmp_path / "events.jsonl"
    with path.open("a", encoding="utf-8") as first:
        first.write("before ")
        system.lock(first)
        first.write("after")
        with path.open("rb") as reader:
            assert system.is_locked(reader)
        with path.open("a", encoding="utf-8") as second:
            with pytest.raises(BlockingIOError):
                system.lock(second, waits=False)
            waiting = threading.Thread(target=system.lock, args=(second,))
            waiting.start()
            first.close()
            waiting.join()
            with path.open("rb") as reader:
                assert system.is_locked(reader)
    with path.open("rb") as reader:
        assert not system.is_locked(reader)
        assert reader.read() == b"before after"


def test_a_secret_is_written_without_file_modes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret"
    write_secret(path, "one")
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    monkeypatch.setattr(os, "supports_fd", set())
    write_secret(path, "two")
    assert path.read_text("utf-8") == "two"


def test_processors_are_those_available_to_this_process() -> None:
    assert 1 <= system.processors() <= len(os.sched_getaffinity(0))


def test_unknown_load_average_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert system.load_average() is not None
    monkeypatch.delattr(os, "getloadavg")
    assert system.load_average() is None


@pytest.fixture
def received() -> Iterator[list[int]]:
    """Signals received during the test; handlers are restored."""
    numbers = {signal.SIGINT, *system.END_SIGNALS, system.STOP}
    before = {number: signal.getsignal(number) for number in numbers}
    came: list[int] = []
    signal.signal(system.STOP, lambda number, _: came.append(number))
    yield came
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("lacks", [(), ("SIGUSR1", "pthread_kill", "pthread_sigmask")])
def test_stop_arrives_without_signal_support(
    received: list[int], monkeypatch: pytest.MonkeyPatch, lacks: tuple[str, ...]
) -> None:
    for name in lacks:
        monkeypatch.delattr(signal, name)
    given = threading.Event()
    system.enable_stop(given.is_set)
    assert not received
    given.set()
    system.send_stop(os.getpid())
    for _ in range(1000):
        if received:
            break
        given.wait(0.01)
        threading.Event().wait(0.01)
    assert received == [system.STOP]
    is_blocked = "pthread_sigmask" not in lacks
    assert is_blocked or signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_claimed_address_cannot_be_bound_again() -> None:
    with socket.socket() as one, socket.socket() as other:
        system.claim_address(one)
        one.bind(("127.0.0.1", 0))
        one.listen()
        system.claim_address(other)
        with pytest.raises(OSError, match="in use"):
            other.bind(one.getsockname())


def test_exclusive_address_use_is_set_on_windows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", -5, raising=False)
    asked: list[tuple[int, int, int]] = []
    listener = SimpleNamespace(setsockopt=lambda *words: asked.append(words))
    system.claim_address(listener)  # type: ignore[arg-type]  # one that Linux has not
    assert asked == [(socket.SOL_SOCKET, -5, 1)]


@pytest.mark.parametrize("name", ["TCP_KEEPIDLE", "TCP_KEEPALIVE"])
def test_keepalive_options_are_set(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    number = socket.TCP_KEEPIDLE
    monkeypatch.delattr(socket, "TCP_KEEPIDLE")
    monkeypatch.setattr(socket, name, number, raising=False)
    with socket.socket() as connection:
        system.keep_alive(connection, idle_s=5, period_s=2, tries=3)
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert connection.getsockopt(socket.IPPROTO_TCP, number) == 5


def _end_with(parent: int) -> None:
    system.wait_for_parent(parent)


@pytest.mark.slow(covers=False)
def test_a_process_waits_until_its_parent_ends() -> None:
    waiting = get_context("spawn").Process(target=_end_with, args=(os.getpid() + 1,))
    waiting.start()  # of another parent: it has ended
    waiting.join(60.0)
    assert waiting.exitcode == 0
