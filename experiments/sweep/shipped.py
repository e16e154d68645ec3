"""The sweeps that come with the testbed, by their names."""

from pathlib import Path

from models import BadInput, UnknownName

FOLDER = Path(__file__).resolve().parents[1] / "sweeps"


def sweep_names() -> tuple[str, ...]:
    """Return the names under which they are run, in alphabetical order."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def find_sweep(text: str) -> Path:
    """Return the file that a command line means: a file, or one of ours by its name.

    Raises:
        UnknownName: there is no such file, and none of ours has this name.
        BadInput: it is a folder, or a path at which there is no file.
    """
    path = Path(text)
    if path.is_file():
        return path
    if text in sweep_names():
        return FOLDER / f"{text}.yaml"
    if path.is_dir():
        raise BadInput(f"{text} is a folder; name a sweep file in it.")
    if path.suffix or len(path.parts) > 1:
        raise BadInput(f"there is no file {text}; give another path.")
    names = sweep_names()
    raise UnknownName("Sweep", text, names, "this folder, nor among those that ship")
