"""Controller text of a policy and its short name; this module imports quickly."""

import re
from collections.abc import Sequence
from pathlib import PurePath

PREFIX = "policy:"
_OPTION = re.compile(r"\+(?=(?:command|layout)=)")


def split_policy(text: str) -> tuple[str, list[str]]:
    """Return the file and the options `key=value` of a text without the prefix.

    A file name may have a plus sign: only one before a key starts an option.
    """
    file, *options = _OPTION.split(text)
    return file, options


def policy_text(
    file: str, command: str | None = None, layout: str | None = None
) -> str:
    """Return the controller text of a policy.

    Args:
        file: ONNX file, or `FILE.py:CLASS`.
        command: commanded velocity, as `vx,vy,yaw`.
        layout: YAML file.
    """
    options = {"command": command and command.replace(",", "/"), "layout": layout}
    given = (f"+{key}={value}" for key, value in options.items() if value is not None)
    return f"{PREFIX}{file}{''.join(given)}"


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
