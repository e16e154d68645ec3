"""Read what a robot can do by heart: the YAML files in `library/` of its folder.

Each file may hold any of the sections `motions`, `lights`, `sounds`, `commands` and
`transitions`; an entry may name those of the other files.
"""

from pathlib import Path

from models.build_library import build_library
from models.errors import RobotDataError
from models.library import Library
from models.library_problems import KnownNames, library_problems
from models.library_yaml import LibraryForm
from models.robot import Robot
from models.yaml_lines import FileErrors, Problem, ReadFile, read_file

SECTIONS = ("motions", "lights", "sounds", "commands")


def has_library(folder: Path) -> bool:
    """Return whether a robot's folder has any file of a library."""
    return any((folder / "library").glob("*.yaml"))


def load_library(robot: Robot) -> Library:
    """Return the library of a robot's folder; empty where it has none.

    Args:
        robot: whose folder, joints, postures and resources the files belong to.

    Raises:
        FileErrors: all that is wrong in the files, a line each.
    """
    folder = robot.folder / "library"
    errors: list[RobotDataError] = []
    files: list[tuple[ReadFile[LibraryForm], LibraryForm]] = []
    known = KnownNames()
    for path in sorted(folder.glob("*.yaml")):
        try:
            file = read_file(path, LibraryForm)
        except FileErrors as error:
            errors += error.errors
            continue
        form = file.value or LibraryForm()
        files.append((file, form))
        known = known.with_form(form).with_left_out(file.left_out)
    library = Library()
    homes: dict[tuple[str, ...], str] = {}
    for file, form in files:
        problems = [
            *library_problems(form, robot, known),
            *_doubled(form, file.path.name, homes),
        ]
        errors += file.errors(problems)
        if not errors:
            library = library.with_more(build_library(form, robot))
    if errors:
        raise FileErrors(errors)
    return library


def _doubled(
    form: LibraryForm, file: str, homes: dict[tuple[str, ...], str]
) -> list[Problem]:
    """Return what another file of the folder holds too; note what this one holds."""
    problems = []
    for section in SECTIONS:
        for name in getattr(form, section):
            first = homes.setdefault((section, name), file)
            if first != file:
                message = f"{name!r} is in {first} too; keep one of them."
                problems.append(Problem((section, name), message))
    for i, way in enumerate(form.transitions):
        first = homes.setdefault(("transitions", way.start, way.end), file)
        if first != file:
            message = f"a way from {way.start} to {way.end} is in {first} too."
            problems.append(Problem(("transitions", i), message))
    return problems
