"""A part of a file on one line, as a person would write it."""

from typing import Any


def one_line(value: Any) -> str:
    """Return a part of a file in YAML's flow style, without its outer braces."""
    text = _flow(value)
    return text[1:-1] if isinstance(value, dict) else text


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{_flow(key)}: {_flow(item)}" for key, item in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_flow, value))}]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def plain(value: Any) -> Any:
    """Return a part of a file without what its reader knows of lines."""
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value
