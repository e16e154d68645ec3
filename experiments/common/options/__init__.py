"""Options shared by several commands of `nao-testbed`.

This includes `--json FILE`, with the check and the writing of its file; - is stdout.
"""

import dataclasses
import functools
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from nao_testbed.controllers.policies.text import policy_text
from nao_testbed.experiments.common.options.completion import (
    OPTIONS,
    controllers,
    file_of,
    one_of,
    robots,
)
from nao_testbed.experiments.common.output_files import replacing_only_own_outputs
from nao_testbed.experiments.common.robot_setting import OptionSpec, annotated_with
from nao_testbed.experiments.common.streams import print_data
from nao_testbed.models import BadInput
from nao_testbed.models.files import check_writable, write_secret, write_text
from nao_testbed.models.folders import find_robot_folder, robot_names

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class PlainNumbers(TyperCommand):
    """Command whose numeric options are plain numbers within their ranges.

    Python would silently read `--minutes 1_5` as 15 minutes.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reject numbers with underscores, then parse, then check the ranges.

        Raises:
            BadInput: the command line is invalid, or a number is out of its range.
        """
        with _one_error_form(ctx):
            given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
            if given.get("help"):  # before typer imports pydantic
                typer.echo(ctx.get_help())
                ctx.exit()
            params: list[Any] = self.get_params(ctx)
            for param in filter(_is_number, params):
                value = given.get(param.name or "")
                for text in value if isinstance(value, list) else [value]:
                    if isinstance(text, str):
                        _check_number(param, text)
            rest = super().parse_args(ctx, args)
        from nao_testbed.controllers.interface.checked import check_value  # noqa: PLC0415  # heavy

        command = _command_of(ctx)
        for param in filter(_is_number, params):
            value = ctx.params[param.name]
            if value is not None:
                option = param.opts[0]
                check_value(option, value, self.range_of(command, option))
        return rest

    def range_of(self, command: str, option: str) -> Any:
        """Return the range of an option."""
        from nao_testbed.experiments.common.ranges import range_of  # noqa: PLC0415  # heavy

        return range_of(command, option)


class WholeHelp(TyperGroup):
    """Group whose help lists the whole first sentence of each command.

    The default help cuts them to one line. Commands appear under their
    `rich_help_panel`.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options; flags that are not given are False.

        For None, typer would import pydantic.
        """
        params: list[Any] = super().get_params(ctx)
        for param in params:
            if getattr(param, "is_flag", False) and param.default is None:
                param.default = False
        return params

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options of the group; without arguments, print its help."""
        with _one_error_form(ctx) if args else nullcontext():
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name."""
        with _one_error_form(ctx):
            return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write name and sentence of each command, with all names in one column."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                heading = getattr(command, "rich_help_panel", None) or "Commands"
                row = name, command.get_short_help_str(limit=1000)
                sections.setdefault(heading, []).append(row)
        widest = max(
            (len(name) for rows in sections.values() for name, _ in rows), default=0
        )
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(widest), said) for name, said in rows])


class Commands(typer.Typer):
    """Commands of `nao-testbed`, each with plain numbers."""

    def command(
        self, name: str | None = None, **settings: Any
    ) -> Callable[[FunctionT], FunctionT]:
        """Return a decorator that registers a function, like typer's own."""
        register = super().command(name, **{"cls": PlainNumbers, **settings})

        def register_careful(command: FunctionT) -> FunctionT:
            register(replacing_only_own_outputs(command))
            return command

        return register_careful


USAGE_ERROR: Any = typer.BadParameter.__mro__[1]
"""Base class of the errors of a command line; typer does not export it."""


@contextmanager
def _one_error_form(ctx: Any) -> Iterator[None]:
    """Convert usage errors of typer to our errors.

    Raises:
        BadInput: the command line is invalid; the message names the help to read.
    """
    try:
        yield
    except USAGE_ERROR as error:
        said = error.format_message().replace(": Value error, ", ": ").rstrip(".")
        end = "" if said.endswith("?") else "."
        raise BadInput(f"{said}{end} See `{ctx.command_path} --help`.") from error


def _check_number(param: Any, text: str) -> None:
    """Check that the text of an option is a number of its kind.

    Raises:
        BadInput: the text is not a number, or has an underscore.
    """
    option, kind = param.opts[0], param.type_descriptor.annotation
    if "_" in text:
        raise BadInput(
            f"{option} {text!r} has an underscore; write the number without it."
        )
    try:
        kind(text)
    except ValueError as error:
        named = "whole number" if kind is int else "number"
        raise BadInput(
            f"{option} {text!r} is not a {named}; give one, such as 15."
        ) from error


def _command_of(ctx: Any) -> str:
    """Return the names of a command and its groups, without the program's."""
    if ctx.parent is None:
        return ""
    return f"{_command_of(ctx.parent)} {ctx.info_name}".strip()


def _is_number(param: Any) -> bool:
    return param.type_descriptor.annotation in {int, float}


JsonOption = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="FILE", help="Also write the results as JSON; - means stdout."
    ),
]
"""Argument of `experiments.common.options.write_json`."""

MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="NAME=COLUMN",
        help="Meaning of a column, such as q.{joint}=pos_{joint}, or a file written "
        "by `nao-testbed log-columns LOG --write FILE`; repeatable.",
    ),
]
"""Argument of `experiments.heat.logs.columns.read_map`."""


def robot_path(text: str) -> Path:
    """Return the folder of a built-in robot, or the text as an unchecked path."""
    is_name = not Path(text).exists() and text in robot_names()
    return find_robot_folder(text) if is_name else Path(text)


RobotOption = Annotated[
    Path | None,
    typer.Option(
        "--robot",
        metavar="ROBOT",
        parser=robot_path,
        autocompletion=robots,
        help="Robot folder, or name of a built-in robot; default: nao.",
    ),
]
"""Folder of a robot; None: `models.default_robot_folder()`."""


PRESET_COMPLETION = file_of("heat/presets")
"""Completion of `--preset`."""


def controllers_option(default: str) -> Any:
    """Return the option by which a command takes controllers, for `names_in`.

    Args:
        default: default controllers, as text.
    """
    said = f"Comma-separated controllers, as for `heat`; default: {default}."
    return typer.Option(
        "--controllers", metavar="NAMES", help=said, autocompletion=controllers
    )


PolicyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="Add a robot with this policy: FILE.onnx, FILE.onnx+layout=FILE.yaml or "
        "FILE.py:CLASS; repeatable (docs/guides/policies.md).",
    ),
]
CommandOption = Annotated[
    str | None,
    typer.Option(
        "--command",
        metavar="VX,VY,YAW",
        help="Commanded velocity of the policies, in m/s and rad/s; default: stand.",
    ),
]


def chosen_controllers(
    controllers: str | None,
    policies: Iterable[str] | None,
    command: str | None,
    default: str = "fixed,smart",
) -> tuple[str, ...]:
    """Return the controllers that options name, those of policies last.

    Raises:
        BadInput: there is a command without a policy.
    """
    if command is not None and not policies:
        raise BadInput(f"--command {command} is for a policy; give --policy FILE too.")
    found = tuple(policy_text(file, command) for file in policies or ())
    if controllers is None and found:
        return found
    return (*names_in(default if controllers is None else controllers), *found)


def names_in(text: str | None) -> tuple[str, ...]:
    """Split comma-separated names; empty if nothing is given."""
    return () if text is None else tuple(name.strip() for name in text.split(","))


CommandT = TypeVar("CommandT", bound=Callable[..., None])


def setting_options(command: CommandT) -> CommandT:
    """Replace `**setting` of a command by the options of a robot setting.

    The command is called with the given fields, by name.
    """
    options: list[inspect.Parameter] = []
    fields: list[tuple[str, OptionSpec]] = []
    for name, spec, parameter in _options():
        options.append(parameter)
        fields.append((name, spec))

    @functools.wraps(command)
    def with_setting(**given: Any) -> None:
        setting = {}
        for name, spec in fields:
            value = given.pop(spec.option)
            if isinstance(value, list):
                value = _pairs(spec, value)
            if value is not None:
                setting[name] = value
        command(**given, **setting)

    own = [
        one
        for one in inspect.signature(command).parameters.values()
        if one.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
    with_setting.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*parameters, *options]
    )
    with_setting.__annotations__ = {
        one.name: one.annotation for one in [*own, *options]
    }
    return with_setting  # type: ignore[return-value]  # options where fields were


def _options() -> Iterator[tuple[str, OptionSpec, inspect.Parameter]]:
    """Yield the field, specification and typer parameter of each option."""
    for one, kind, spec in annotated_with(OptionSpec):
        by_joint = one.default is dataclasses.MISSING
        # Other values are rejected by the setting, with its own message.
        word = str if get_origin(kind) is Literal else kind
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        complete = one_of(*choices) if choices else OPTIONS.get(spec.option)
        option = typer.Option(
            help=spec.help, metavar=spec.metavar, autocompletion=complete
        )
        yield (
            one.name,
            spec,
            inspect.Parameter(
                spec.option,
                inspect.Parameter.KEYWORD_ONLY,
                default=None if by_joint else one.default,
                annotation=Annotated[list[str] | None if by_joint else word, option],
            ),
        )


def _pairs(spec: OptionSpec, items: Iterable[str]) -> dict[str, Any]:
    """Return texts such as `JOINT=DEG` as a mapping.

    Raises:
        BadInput: a text does not have that form, or a joint is repeated.
    """
    from nao_testbed.models.values import number_of  # noqa: PLC0415  # heavy

    option = f"--{spec.option}"
    found: dict[str, Any] = {}
    for item in items:
        name, equals, text = item.partition("=")
        value: float | str = text
        if not spec.is_text:
            try:
                value = number_of(text)
            except ValueError:
                equals = ""
        if not (name and equals):
            raise BadInput(
                f"{option} {item!r} is not of the form {spec.metavar}, such as "
                f"{option} {spec.example}."
            )
        if name in found:
            raise BadInput(f"{option} gives {name} twice; give it once.")
        found[name] = value
    return found


STDOUT = "-"


def check_json_file(json_file: str | None) -> None:
    """Check that the file can be written before a long run; leave no trace.

    Raises:
        BadInput: the file cannot be written.
    """
    if json_file is not None and json_file != STDOUT:
        check_writable(
            "--json", Path(json_file), or_else="another file, or - for stdout"
        )


FIGURE_KINDS = (".png", ".svg")


def check_figure_file(figure: Path | None) -> None:
    """Check the file of `--figure`, as in `check_json_file`.

    Raises:
        BadInput: the file cannot be written, or its type is unknown.
    """
    if figure is None:
        return
    check_writable("--figure", figure)
    if figure.suffix not in FIGURE_KINDS:
        raise BadInput(
            f"--figure {figure} has no known file type; give a name that ends in "
            f"{' or '.join(FIGURE_KINDS)}."
        )


def json_text(data: Mapping[str, Any]) -> str:
    """Return data as JSON for people and programs, without NaN."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def write_json(json_file: str | None, text: str, *, holds_token: bool = False) -> None:
    """Write the file or print the text; None: do nothing.

    Args:
        json_file: value of the option.
        text: text of `json_text`.
        holds_token: True: only the owner may read the file (mode 0600), regardless of
            the umask.

    Raises:
        WriteError: the file cannot be written completely.
    """
    if json_file == STDOUT:
        print_data(text)
    elif json_file is not None:
        write = write_secret if holds_token else write_text
        write(Path(json_file), text + "\n")
