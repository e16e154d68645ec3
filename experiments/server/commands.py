"""Command `nao-testbed resources` for owners and stations.

Exit status: 0 done, 1 not granted, lost, or no server, 2 bad input. Tokens and lists go
to stdout, the rest to stderr. Modules that need the extra `server` are imported lazily.
"""

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nao_testbed.experiments.common.options import (
    STDOUT,
    Commands,
    JsonOption,
    WholeHelp,
    check_json_file,
    json_text,
    write_json,
)
from nao_testbed.models import ExtraMissing

if TYPE_CHECKING:
    from nao_testbed.experiments.server.link import ServerLink

NEEDED = ("fastapi", "httpx", "uvicorn")
SECRET_VARIABLE = "NAO_TESTBED_SECRET"  # its name, not its value
DEFAULT_URL = "http://127.0.0.1:8640"

resources_app = Commands(
    cls=WholeHelp,
    help="Reserve resources of a robot over the network, and see who has them.",
    no_args_is_help=True,
)

UrlOption = Annotated[
    str, typer.Option("--url", envvar="NAO_TESTBED_URL", help="Address of the server.")
]
SecretOption = Annotated[
    Path | None,
    typer.Option(
        "--secret-file",
        metavar="FILE",
        help=f"File with the shared secret; or give it in {SECRET_VARIABLE}.",
    ),
]


@resources_app.command()
def serve(
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; others than loopback need a secret."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes a free one.")] = 8640,
    robot: Annotated[
        Path | None,
        typer.Option(
            "--robot", metavar="DIR", help="Robot whose resources; def.: NAO."
        ),
    ] = None,
    body: Annotated[
        str | None, typer.Option(help="Body of the robot; what it lacks is frozen.")
    ] = None,
    resources: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Resource file, without any robot."),
    ] = None,
    objects: Annotated[
        list[str] | None,
        typer.Option("--object", metavar="NAME", help="Such as ball; repeatable."),
    ] = None,
    preemption: Annotated[
        str, typer.Option(help="off, or by_priority: higher priority takes at once.")
    ] = "off",
    max_priority: Annotated[
        int, typer.Option(help="Highest priority of those who ask.")
    ] = 9,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Count of restarts; default: in the user's folder."
        ),
    ] = None,
    secret_file: SecretOption = None,
) -> None:
    """Manage resources for others, until Ctrl-C; shows a page."""
    _check_installed()
    from nao_testbed.experiments.server.server import ServerCfg, run_server  # noqa: PLC0415  # heavy

    secret = _secret(secret_file)
    run_server(
        ServerCfg(host=host, port=port, secret=secret, max_priority=max_priority),
        robot=robot,
        body=body,
        resources=resources,
        objects=tuple(objects or ()),
        preemption=preemption,
        state=state,
    )


@resources_app.command(name="list")
def list_resources(
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    busy: Annotated[
        bool, typer.Option("--busy", help="Only what is held or waited for.")
    ] = False,
    secret_file: SecretOption = None,
) -> None:
    """Show the tree of resources with owners and waiters."""
    with _server(url, secret_file, json_file) as link:
        snapshot = link.snapshot()
    write_json(json_file, snapshot.model_dump_json(indent=2))
    if json_file == STDOUT:
        return
    from nao_testbed.experiments.server.run_take import list_lines  # noqa: PLC0415  # heavy

    for line in list_lines(snapshot, only_busy=busy):
        print(line)


@resources_app.command()
def take(
    names: Annotated[
        list[str] | None, typer.Argument(help="Resources, all or nothing.")
    ] = None,
    url: UrlOption = DEFAULT_URL,
    owner: Annotated[
        str | None, typer.Option(help="Name to be known by; default: user and process.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(help="Longest wait in s; 0 tries once.")
    ] = 5.0,
    hold: Annotated[
        float | None,
        typer.Option("--for", metavar="S", help="Hold for so many s; default: Ctrl-C."),
    ] = None,
    optional: Annotated[
        list[str] | None,
        typer.Option(help="Taken if free at the grant; repeatable."),
    ] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=PERCENT", help="Such as CPU=10; repeatable."),
    ] = None,
    priority: Annotated[int, typer.Option(help="From 0, low, to 9, high.")] = 0,
    policy: Annotated[
        str, typer.Option(help="When others ask: lock, stop, pause or callback.")
    ] = "lock",
    time_to_live: Annotated[
        float, typer.Option("--ttl", help="Silence after which it is free again, in s.")
    ] = 5.0,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Take resources, print the token, hold until released."""
    _check_installed()
    from nao_testbed.experiments.server.run_take import TakeCfg, run_take  # noqa: PLC0415  # heavy

    check_json_file(json_file)
    raise typer.Exit(
        run_take(
            TakeCfg(
                url=url,
                secret=_secret(secret_file),
                owner=owner,
                names=tuple(names or ()),
                optional=tuple(optional or ()),
                rates=tuple(rate or ()),
                timeout_s=timeout,
                hold_s=hold,
                priority=priority,
                policy=policy,
                time_to_live_s=time_to_live,
                json_file=json_file,
            )
        )
    )


@resources_app.command()
def release(
    token: Annotated[str, typer.Argument(help="As `take` printed it.")],
    names: Annotated[
        list[str] | None, typer.Argument(help="Only these; default: all of it.")
    ] = None,
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Give back what a token holds, or a part of it."""
    from nao_testbed.controllers.arbitration.tokens import Token  # noqa: PLC0415  # heavy

    with _server(url, secret_file, json_file) as link:
        whole = Token.from_text(token)
        link.release(whole, tuple(names) if names else None)
    _tell(json_file, "release", token=str(whole.id), resources=names or None)


@resources_app.command()
def add(
    name: Annotated[str, typer.Argument(help="Such as ball.")],
    parent: Annotated[str, typer.Option(help="Composite to put it into.")] = "root",
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Add a resource to a running server."""
    with _server(url, secret_file, json_file) as link:
        link.add_resource(name, parent)
    _tell(json_file, "add", resource=name, parent=parent)


@resources_app.command()
def upload(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="YAML: rules and behaviours.")
    ],
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Send rules and behaviours to a server, whole or not at all."""
    from nao_testbed.models.files.csv_tables import read_text_of  # noqa: PLC0415  # heavy

    with _server(url, secret_file, json_file) as link:
        installed = link.install(read_text_of(file), file.name)
    _tell(json_file, "upload", **installed.model_dump(mode="json"))
    if json_file == STDOUT:
        return
    for owner in installed.owners:
        print(f"owner {owner}")
    for behaviour in installed.behaviours:
        print(f"behaviour {behaviour.name}{', runs' if behaviour.runs else ''}")


@resources_app.command()
def show(
    name: Annotated[str, typer.Argument(help="Of a behaviour that was uploaded.")],
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Print an uploaded behaviour as sections of a scenario file."""
    with _server(url, secret_file, json_file) as link:
        found = link.definition(name).as_scenario()
    _tell(json_file, "show", **found)
    if json_file != STDOUT:
        print(json_text(found))  # which is YAML, too


@resources_app.command()
def start(
    name: Annotated[str, typer.Argument(help="Of a behaviour that was uploaded.")],
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Start an uploaded behaviour; it runs on until `stop`."""
    with _server(url, secret_file, json_file) as link:
        started = link.start(name)
    said = {"experiment": "resources start", **started.model_dump(mode="json")}
    write_json(json_file, json_text(said), holds_token=True)
    ahead = [] if json_file == STDOUT else [started]
    while ahead:
        one = ahead.pop(0)
        ahead[:0] = one.parts
        print(f"{one.name}: {'runs' if one.runs else 'does not run'}", end="")
        print(f", with {', '.join(one.has)}" if one.has else "", end="")
        print(f", without {', '.join(one.missing)}" if one.missing else "")
    raise typer.Exit(0 if started.runs else 1)


@resources_app.command()
def stop(
    name: Annotated[str, typer.Argument(help="Of a behaviour that was uploaded.")],
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Stop an uploaded behaviour: all that it holds is free."""
    with _server(url, secret_file, json_file) as link:
        link.stop(name)
    _tell(json_file, "stop", name=name)


@resources_app.command()
def revoke(
    names: Annotated[list[str], typer.Argument(help="Resources, all or none.")],
    priority: Annotated[
        int | None,
        typer.Option(help="Only from lower priorities; default: from all."),
    ] = None,
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Revoke resources from all holders, until `give-back`."""
    with _server(url, secret_file, json_file) as link:
        link.take_away(*names, priority=priority)
    _tell(json_file, "revoke", resources=names, priority=priority)


@resources_app.command(name="give-back")
def give_back(
    names: Annotated[
        list[str] | None, typer.Argument(help="Only these; default: all.")
    ] = None,
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Return resources that `revoke` took away to the pool."""
    with _server(url, secret_file, json_file) as link:
        link.give_back(*names or ())
    _tell(json_file, "give-back", resources=names or None)


@contextmanager
def _server(
    url: str, secret_file: Path | None, json_file: str | None
) -> Iterator["ServerLink"]:
    """Yield the way to a server, when all that the command needs is there."""
    _check_installed()
    from nao_testbed.experiments.server.link import ServerLink  # noqa: PLC0415  # heavy

    check_json_file(json_file)
    with ServerLink(url, _secret(secret_file)) as link:
        yield link


def _tell(json_file: str | None, command: str, **what: object) -> None:
    """Write the result of a command; null resources mean all."""
    write_json(json_file, json_text({"experiment": f"resources {command}", **what}))


def _check_installed() -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ExtraMissing("`nao-testbed resources`", ", ".join(missing), "server")


def _secret(path: Path | None) -> str | None:
    """Return the shared secret; never from the command line, which others see."""
    if path is not None:
        from nao_testbed.experiments.server.link import read_secret  # noqa: PLC0415  # heavy

        return read_secret(path)
    return os.environ.get(SECRET_VARIABLE) or None
