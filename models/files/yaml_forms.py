"""YAML files validated by forms: all problems of a file at once, each with its line.

    file = read_file(path, Form)      # keep valid entries; register the others
    file.refuse(problems)             # add problems of values: one error for all

An entry of a wrong form is left out, so that the rest of the file is still checked.
`read_yaml` stops at the first problem instead. Messages about an unknown key list the
keys that the form accepts there (`accepted_keys`).
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ValidationError

from nao_testbed.models.errors import BadInput, RobotDataError, UnknownName
from nao_testbed.models.files.csv_tables import message_of
from nao_testbed.models.files.fast_yaml import LocatedList
from nao_testbed.models.files.yaml_tree import read_tree, tree_of, yaml_line


def accepted_keys(form: type[BaseModel], place: tuple[str | int, ...]) -> list[str]:
    """Return the keys that a form accepts at a place, in the order of its fields.

    Args:
        form: form of the whole file.
        place: path of keys and item numbers to a map.
    """
    models = _models(form)
    for part in place:
        models = [model for above in models for model in _below(above, part)]
    return list(dict.fromkeys(key for model in models for key in _fields(model)))


def _is_form(kind: Any) -> bool:
    return isinstance(kind, type) and (
        issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind)
    )


def _fields(form: Any) -> dict[str, Any]:
    """Return the keys of a model or dataclass with their annotations."""
    if not _is_form(form):
        return {}
    if dataclasses.is_dataclass(form):
        return get_type_hints(form)
    return {f.alias or name: f.annotation for name, f in form.model_fields.items()}


def _below(model: Any, part: str | int) -> list[Any]:
    """Return the annotations under a key of a form or container."""
    if _is_form(model):
        if model.__name__ == part:  # pydantic names the members of a union
            return [model]
        return _models(_fields(model).get(str(part)))
    return [inner for inside in get_args(model)[-1:] for inner in _models(inside)]


def _models(annotation: Any) -> list[Any]:
    """Return the forms and containers that an annotation allows."""
    if _is_form(annotation):
        return [annotation]
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin in {dict, list}:
        return [annotation]
    if origin is tuple:
        return [list[kind] for kind in inside if kind is not Ellipsis]  # type: ignore[valid-type]
    return [model for part in inside for model in _models(part)]


FormT = TypeVar("FormT", bound=BaseModel)
Place = tuple[str | int, ...]
"""Path of keys and item numbers to a value of a file."""


@dataclass(frozen=True, kw_only=True)
class YamlFile(Generic[FormT]):
    """Validated YAML file with the line of each key."""

    path: Path
    value: FormT
    tree: Any

    def line(self, *place: str | int) -> int | None:
        """Return the line of the key or item at `place`, or of its nearest parent."""
        return yaml_line(self.tree, place)

    def fail(self, problem: str, *place: str | int) -> NoReturn:
        """Raise an error at the line of `place`."""
        raise RobotDataError(self.path, self.line(*place), problem)

    def need(
        self,
        kind: str,
        name: str,
        known: Collection[str],
        where: str,
        *place: str | int,
        before: str = "",
    ) -> None:
        """Raise with the text of `UnknownName` for an unknown name at `place`."""
        if name not in known:
            self.fail(f"{before}{UnknownName(kind, name, known, where)}", *place)


def read_yaml(path: Path, model: type[FormT]) -> YamlFile[FormT]:
    """Read and validate a YAML 1.2 file; reject duplicate keys.

    Raises:
        RobotDataError: the file is not YAML, or a value is missing, unknown or invalid.
    """
    tree = read_tree(path)
    try:
        value = model.model_validate({} if tree is None else tree)
    except ValidationError as error:
        problems = list(_problems(error, model, tree))
        # An unknown key explains a missing one.
        first = next((p for p in problems if "unknown key" in p.message), problems[0])
        line = yaml_line(tree, first.place)
        raise RobotDataError(path, line, first.message) from error
    return YamlFile(path=path, value=value, tree=tree)


@dataclass(frozen=True, slots=True)
class Problem:
    """Problem in a file."""

    place: Place
    message: str
    """Full sentence: problem, value, accepted values, remedy."""


class FileErrors(BadInput):
    """Error: all problems of one or several files, one line each."""

    def __init__(self, errors: Sequence[RobotDataError]) -> None:
        """Join the messages by line breaks; each begins with `file:line`."""
        self.errors = tuple(errors)
        super().__init__("\n".join(str(error) for error in errors))


@dataclass(frozen=True, kw_only=True)
class ReadFile(Generic[FormT]):
    """YAML file: entries of valid form, and errors of the others."""

    path: Path
    value: FormT | None
    """Validated value; None if no part is valid."""
    tree: Any
    """Source of `value`: maps and lists with line numbers."""
    form_errors: tuple[RobotDataError, ...] = ()
    """Errors of the invalid entries, which `value` and `tree` do not contain."""
    left_out: tuple[Place, ...] = ()
    """Places of the invalid entries, whose names must not be reported as unknown."""

    def error(self, problem: Problem) -> RobotDataError:
        """Return a problem of `value` as an error with the file's name and the line."""
        line = yaml_line(self.tree, problem.place)
        return RobotDataError(self.path, line, problem.message)

    def errors(self, problems: Iterable[Problem] = ()) -> list[RobotDataError]:
        """Return problems of `value` and of the form, in the order of their lines."""
        found = [*self.form_errors, *(self.error(problem) for problem in problems)]
        return sorted(found, key=lambda error: error.line or 0)

    def refuse(self, problems: Iterable[Problem] = ()) -> FormT:
        """Return the value, or raise all problems as one error.

        Raises:
            FileErrors: there are problems.
        """
        errors = self.errors(problems)
        if errors or self.value is None:
            raise FileErrors(errors)
        return self.value


def entry_of(place: Place) -> Place:
    """Return the entry of a section, such as a motion, that contains a value."""
    return place[:2]


def read_file(
    path: Path,
    form: type[FormT],
    entry: Callable[[Place], Place] = entry_of,
    text: str | None = None,
) -> ReadFile[FormT]:
    """Read a YAML 1.2 file and keep the entries of valid form.

    Args:
        path: path of the file.
        form: form of the whole file.
        entry: function that returns the entry to leave out for the place of an invalid
            value.
        text: contents, if they come from another source.

    Raises:
        FileErrors: the file is missing, unreadable, not YAML, or has a duplicate key.
    """
    try:
        tree = read_tree(path) if text is None else tree_of(text, path)
    except RobotDataError as error:
        raise FileErrors([error]) from error
    tree = {} if tree is None else tree
    try:
        value: FormT | None = form.model_validate(tree)
        return ReadFile(path=path, value=value, tree=tree)
    except ValidationError as error:
        problems = list(_problems(error, form, tree))
    errors = tuple(
        RobotDataError(path, yaml_line(tree, p.place), p.message) for p in problems
    )
    places = sorted({entry(p.place) for p in problems}, key=_order, reverse=True)
    for place in places:
        _leave_out(tree, place)
    try:
        value = form.model_validate(tree)
    except ValidationError:
        value = None
    return ReadFile(
        path=path,
        value=value,
        tree=tree,
        form_errors=errors,
        left_out=tuple(places),
    )


_UNKNOWN_KEY = {"extra_forbidden", "unexpected_keyword_argument"}
"""Error types of models, and of dataclasses."""


def _problems(
    error: ValidationError, form: type[BaseModel], tree: Any
) -> Iterator[Problem]:
    found_errors = error.errors()
    above = {e["loc"][:n] for e in found_errors for n in range(len(e["loc"]))}
    for found in found_errors:
        if found["type"] == "too_short" and found["loc"] in above:
            continue  # missing only because of an error inside
        place = _in_file(tree, found["loc"], found["type"] == "missing")
        where = ".".join(str(part) for part in place) or "the file"
        if found["type"] in _UNKNOWN_KEY:
            known = accepted_keys(form, found["loc"][:-1])
            close = get_close_matches(str(place[-1]), known, n=1)
            hint = f"Did you mean {close[0]!r}? " if close else ""
            listed = ", ".join(known)
            yield Problem(place, f"unknown key {where!r}. {hint}Accepted: {listed}.")
        elif found["type"] == "missing":
            yield Problem(place, f"key {where!r} is missing.")
        else:
            value = _short(found["input"])
            yield Problem(place, f"{where} is {value}: {message_of(found)}.")


def _in_file(tree: Any, place: Place, is_missing: bool) -> Place:
    """Return a place without the union members' names that pydantic inserts.

    Args:
        tree: tree of the file.
        place: place reported by pydantic.
        is_missing: True if its last part is a missing key.
    """
    found: list[str | int] = []
    for part in place[:-1] if is_missing else place:
        try:
            tree = tree[part]
        except (KeyError, IndexError, TypeError):
            continue
        found.append(part)
    return (*found, *place[-1:]) if is_missing else tuple(found)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _order(place: Place) -> tuple[str, ...]:
    return tuple(str(part).zfill(9) for part in place)


def _leave_out(tree: Any, place: Place) -> None:
    """Remove the value at a place from its map or list, if it exists."""
    if not place:
        return  # the whole file is wrong
    for part in place[:-1]:
        try:
            tree = tree[part]
        except (KeyError, IndexError, TypeError):
            return
    if isinstance(tree, dict):
        tree.pop(place[-1], None)
    elif isinstance(tree, LocatedList) and isinstance(place[-1], int):
        lines = [tree.lines[i] for i in range(len(tree)) if i != place[-1]]
        del tree[place[-1]]
        tree.lines = dict(enumerate(lines))
