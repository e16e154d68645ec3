"""The epoch only increases, whatever happens between two starts (I-12)."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nao_testbed.experiments.server.server import default_epoch_file, next_epoch
from nao_testbed.models import BadInput


@pytest.mark.requirement("AR-7")
def test_epoch_increases_at_each_start(tmp_path: Path) -> None:
    path = tmp_path / "some" / "folder" / "epoch"
    assert [next_epoch(path) for _ in range(3)] == [1, 2, 3]


def test_servers_that_start_together_get_different_epochs(tmp_path: Path) -> None:
    path = tmp_path / "epoch"
    with ThreadPoolExecutor(8) as pool:
        epochs = list(pool.map(lambda _: next_epoch(path), range(40)))
    assert sorted(epochs) == list(range(1, 41))


def test_crash_while_writing_keeps_the_old_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "epoch"
    next_epoch(path)

    def crash(_: Path, __: Path) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", crash)
        with pytest.raises(BadInput, match=r"No space left.*--state"):
            next_epoch(path)
    assert next_epoch(path) == 2


@pytest.mark.parametrize("text", ["", "seven", "-1", "1.5", "9" * 30, "\x00\xff"])
def test_damaged_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "epoch"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(BadInput, match="count of restarts"):
        next_epoch(path)
    assert path.read_text(encoding="latin-1") == text


def test_default_file_is_in_the_users_state_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_epoch_file() == tmp_path / "nao-testbed" / "reservations-epoch"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert default_epoch_file().is_relative_to(Path.home() / ".local" / "state")
