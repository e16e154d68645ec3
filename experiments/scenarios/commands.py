"""Commands `nao-testbed scenario`: run, check, schema, schemas, words, list.

Exit status 0: all expectations hold, or the file is valid; 1: an expectation does not
hold, or the run failed; 2: bad input. Data goes to stdout or files, messages to stderr.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from nao_testbed.experiments.common.options import (
    Commands,
    JsonOption,
    RobotOption,
    WholeHelp,
    controllers_option,
    names_in,
)
from nao_testbed.experiments.common.options.completion import file_of
from nao_testbed.experiments.common.signals import install_stop_handlers
from nao_testbed.models import BadInput

scenario_app = Commands(
    cls=WholeHelp,
    help="Run, check and list scripted scenarios with expected outcomes.",
    no_args_is_help=True,
)

FilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="YAML files, or names from `scenario list`.",
        autocompletion=file_of("scenarios/builtin"),
    ),
]


@scenario_app.command()
def run(
    files: FilesArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Run folder, or parent folder of several runs; if it exists, a "
            "number is appended. Default: runs/ and the file's name."
        ),
    ] = None,
    controllers: Annotated[
        str | None, controllers_option("the file's; one run each")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the noise; default: the file's.")
    ] = None,
    json_file: JsonOption = None,
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the verdicts as JUnit XML."),
    ] = None,
    gui: Annotated[bool, typer.Option("--gui", help="Open PyBullet's window.")] = False,
    proof: Annotated[
        bool,
        typer.Option(
            "--proof/--no-proof", help="Record the whole trace, with every command."
        ),
    ] = True,
    check_invariants: Annotated[
        bool,
        typer.Option(
            "--check-invariants",
            help="Check the invariants of the trace at every event.",
        ),
    ] = False,
) -> None:
    """Run scenarios, judge each expectation, draw a timeline and write a run folder."""
    from nao_testbed.experiments.scenarios.run_command import (  # noqa: PLC0415  # heavy
        RunArguments,
        run_scenario_command,
    )

    install_stop_handlers()
    arguments = RunArguments(
        files=files,
        controllers=names_in(controllers),
        out=out,
        seed=seed,
        json_file=json_file,
        junit=junit,
        gui=gui,
        proves=proof or check_invariants,
        checks=check_invariants,
    )
    raise typer.Exit(run_scenario_command(arguments))


@scenario_app.command()
def check(
    files: FilesArgument,
    json_file: JsonOption = None,
) -> None:
    """Report all errors in scenario files, each with file and line."""
    from nao_testbed.experiments.common.options import (  # noqa: PLC0415  # beside the next
        STDOUT,
        check_json_file,
        json_text,
        write_json,
    )
    from nao_testbed.experiments.scenarios.reading.load import (  # noqa: PLC0415
        SCENARIOS,  # same module
        load_scenario,  # heavy
    )

    check_json_file(json_file)
    told: list[dict[str, Any]] = []
    for file in files:
        try:
            scenario = load_scenario(SCENARIOS.find(file))
        except BadInput as error:
            for line in str(error).splitlines():
                print(f"error: {line}", file=sys.stderr)
            told.append({"file": file, "ok": False, "errors": _problems(file, error)})
            continue
        counts = {
            "behaviours": sum(1 for _ in scenario.walk()),
            "events": len(scenario.events),
            "expectations": len(scenario.expectations),
        }
        told.append({"file": file, "ok": True, **counts, "errors": []})
        if json_file != STDOUT:
            where = f"{file}: " if len(files) > 1 else ""
            said = (_count(number, what[:-1]) for what, number in counts.items())
            print(f"{where}ok: {', '.join(said)}")
    write_json(json_file, json_text({"experiment": "scenario check", "files": told}))
    raise typer.Exit(0 if all(one["ok"] for one in told) else 2)


def _problems(file: str, error: BadInput) -> list[dict[str, Any]]:
    """Return file, line and message of each part of an error."""
    from nao_testbed.models import RobotDataError  # noqa: PLC0415  # heavy
    from nao_testbed.models.files.yaml_forms import FileErrors  # noqa: PLC0415  # heavy

    errors = error.errors if isinstance(error, FileErrors) else (error,)
    return [
        {"file": str(one.path), "line": one.line, "message": one.problem}
        if isinstance(one, RobotDataError)
        else {"file": file, "line": None, "message": str(one)}
        for one in errors
    ]


@scenario_app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from nao_testbed.experiments.common.options import json_text  # noqa: PLC0415  # beside the next
    from nao_testbed.experiments.scenarios.reading.scenario_file import scenario_schema  # noqa: PLC0415  # heavy

    print(json_text(scenario_schema()))


@scenario_app.command()
def schemas(json_file: JsonOption = None) -> None:
    """List the behaviour schemas, with their parameters and defaults."""
    from nao_testbed.experiments.scenarios.vocabulary.listing import (  # noqa: PLC0415
        schema_table,  # heavy
        schema_words,  # heavy
    )

    _write(json_file, {"schemas": schema_words()}, [schema_table()])


@scenario_app.command()
def words(
    kinds: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KIND]...", help="Kind of words, such as motions; default: all."
        ),
    ] = None,
    robot: RobotOption = None,
    json_file: JsonOption = None,
) -> None:
    """List the vocabulary of scenario files: motions, schemas, conditions and more."""
    from nao_testbed.experiments.scenarios.vocabulary.listing import (  # noqa: PLC0415  # heavy
        check_kinds,
        scenario_words,
        word_tables,
    )
    from nao_testbed.models import load_robot  # noqa: PLC0415  # heavy

    check_kinds(kinds or ())
    found = scenario_words(load_robot(robot))
    data = {kind: found[kind] for kind in kinds or found}
    _write(json_file, data, word_tables(found, kinds or ()))


@scenario_app.command(name="list")
def list_scenarios(json_file: JsonOption = None) -> None:
    """List the built-in scenarios."""
    from rich.text import Text  # noqa: PLC0415  # heavy

    from nao_testbed.experiments.common.drawing.plain_table import plain_table  # noqa: PLC0415  # heavy
    from nao_testbed.experiments.scenarios.reading.load import SCENARIOS, scenario_about  # noqa: PLC0415  # heavy

    found = {name: scenario_about(name) for name in SCENARIOS.names()}
    table = plain_table("")
    table.add_column("scenario", no_wrap=True)
    table.add_column("about", overflow="fold")
    for name, about in found.items():
        table.add_row(name, Text(about))
    _write(json_file, found, [table], width=100)


def _write(
    json_file: str | None,
    data: Mapping[str, Any],
    tables: Iterable[Any],
    width: int = 120,
) -> None:
    """Write data as JSON if requested; print tables unless JSON goes to stdout."""
    from nao_testbed.experiments.common.options import (  # noqa: PLC0415
        STDOUT,  # heavy
        check_json_file,
        json_text,
        write_json,
    )
    from nao_testbed.experiments.common.progress import console_for  # noqa: PLC0415  # heavy

    check_json_file(json_file)
    write_json(json_file, json_text(data))
    if json_file != STDOUT:
        console = console_for(json_file, width)
        for table in tables:
            console.print(table)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
