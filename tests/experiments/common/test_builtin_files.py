"""Lookup of shipped files by name and of user files by path."""

from pathlib import Path

import pytest

from nao_testbed.experiments.common.builtin_files import BuiltinFiles
from nao_testbed.models import UnknownName
from tests.messages import Messages, each


@pytest.fixture
def songs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuiltinFiles:
    """Two shipped songs, and a working directory that holds others."""
    folder = tmp_path / "songs"
    folder.mkdir()
    for name in ("lullaby.yaml", "anthem.yaml", "README.md"):
        (folder / name).touch()
    own = tmp_path / "own"
    (own / "lullaby").mkdir(parents=True)
    (own / "waltz.yaml").touch()
    monkeypatch.chdir(own)
    return BuiltinFiles(kind="song", folder=folder)


def test_names_are_the_sorted_yaml_file_names(songs: BuiltinFiles) -> None:
    assert songs.names() == ("anthem", "lullaby")
    assert songs.named("anthem") == songs.folder / "anthem.yaml"


def test_file_precedes_name_and_name_precedes_folder(
    songs: BuiltinFiles,
) -> None:
    assert songs.find("waltz.yaml") == Path("waltz.yaml")
    assert songs.find("lullaby") == songs.folder / "lullaby.yaml"
    Path("anthem").touch()
    assert songs.find("anthem") == Path("anthem")


def test_unknown_name_is_refused_with_known_names(songs: BuiltinFiles) -> None:
    known = " Did you mean 'anthem'? Known: anthem, lullaby."
    with pytest.raises(UnknownName) as found:
        songs.find("anthm")
    assert str(found.value) == (
        "Song 'anthm' is not in this folder, nor a built-in one." + known
    )
    with pytest.raises(UnknownName) as named:
        songs.named("anthm")
    assert str(named.value) == "Song 'anthm' is not in the testbed." + known


def test_messages(messages: Messages, songs: BuiltinFiles) -> None:
    messages(a_path_without_a_file=each(songs.find, ".", "polka.yaml", "far/polka"))
