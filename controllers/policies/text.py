"""Controller text of a policy and its short name; this module imports quickly."""

import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path, PurePath

from nao_testbed.models.errors import BadInput

PREFIX = "policy:"
_OPTION = re.compile(r"\+(?=(?:command|cool|layout)=)")


def split_policy(text: str) -> tuple[str, list[str]]:
    """Return the file and the options `key=value` of a text without the prefix.

    A file name may have a plus sign: only one before a key starts an option.
    """
    file, *options = _OPTION.split(text)
    return file, options


PACKAGE = "package://"
"""Prefix of a file in an installed Python package, as `package://NAME/PATH`."""


def installed(file: str) -> str:
    """Return the path of a policy file, which may be in an installed package.

    Raises:
        BadInput: the package is not installed.
    """
    if not file.startswith(PACKAGE):
        return file
    package, _, path = file.removeprefix(PACKAGE).partition("/")
    spec = find_spec(package) if package.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise BadInput(
            f"policy {file}: the Python package {package!r} is not installed; run "
            f"pip install --no-deps {package.replace('_', '-')}, or give a file."
        )
    return str(Path(spec.submodule_search_locations[0]) / path)


def policy_text(
    file: str, command: str | None = None, layout: str | None = None
) -> str:
    """Return the controller text of a policy.

    Args:
        file: ONNX file, also as `package://NAME/PATH`, or `FILE.py:CLASS`.
        command: commanded velocity, as `vx,vy,yaw`.
        layout: YAML file.

    Raises:
        BadInput: the package of the file is not installed.
    """
    options = {"command": command and command.replace(",", "/"), "layout": layout}
    given = (f"+{key}={value}" for key, value in options.items() if value is not None)
    return f"{PREFIX}{installed(file)}{''.join(given)}"


def policy_file(controller: str) -> str | None:
    """Return the file of a policy; None for other controllers."""
    if not controller.startswith(PREFIX):
        return None
    file, _ = split_policy(controller.removeprefix(PREFIX))
    python, ending, _ = file.partition(".py:")
    return python + ending.rstrip(":")


def short_names(controllers: Sequence[str]) -> list[str]:
    """Return names for tables and folders: a policy's file without folder and suffix.

    Names that would be equal are not shortened.
    """
    found = []
    for text in controllers:
        file, options = split_policy(text.removeprefix(PREFIX))
        name = "+".join([PurePath(file).stem, *options])
        found.append(name if text.startswith(PREFIX) else text)
    return [
        name if found.count(name) == 1 else text
        for name, text in zip(found, controllers, strict=True)
    ]
