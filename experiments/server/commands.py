"""Command `nao-testbed resources` for owners and stations.

A station is a client that configures the server.
Exit status 0: done; 1: not granted, lost, or no server; 2: bad input. Tokens and lists
go to stdout, everything else to stderr. Modules that need the extra `server` are
imported lazily.
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
SECRET_VARIABLE = "NAO_TESTBED_SECRET"  # name of the variable
DEFAULT_URL = "http://127.0.0.1:8640"

resources_app = Commands(
    cls=WholeHelp,
    help="Reserve a robot's resources over the network and list their holders.",
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
        help=f"File with the shared secret; default: the variable {SECRET_VARIABLE}.",
    ),
]


@resources_app.command()
def serve(
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; any but loopback requires a secret."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 selects a free port.")
    ] = 8640,
    robot: Annotated[
        Path | None,
        typer.Option(
            "--robot",
            metavar="DIR",
            help="Robot folder with the resources; default: nao.",
        ),
    ] = None,
    body: Annotated[
        str | None,
        typer.Option(
            help="Body type of the robot (see robot.yaml); resources that this type "
            "lacks are unavailable."
        ),
    ] = None,
    resources: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Resource file to use instead of a robot."),
    ] = None,
    objects: Annotated[
        list[str] | None,
        typer.Option(
            "--object",
            metavar="NAME",
            help="Object to add as a resource, such as ball; repeatable.",
        ),
    ] = None,
    preemption: Annotated[
        str,
        typer.Option(help="off, or by_priority: a higher priority preempts at once."),
    ] = "off",
    max_priority: Annotated[
        int, typer.Option(help="Highest priority that a client may request.")
    ] = 9,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File that counts restarts; default: in ~/.local/state.",
        ),
    ] = None,
    secret_file: SecretOption = None,
) -> None:
    """Manage resources for clients until Ctrl-C, with a status page."""
    _check_installed()
    from nao_testbed.experiments.server.server import run_server  # noqa: PLC0415  # heavy
    from nao_testbed.experiments.server.service.address import ServerCfg  # noqa: PLC0415  # heavy

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
        bool,
        typer.Option("--busy", help="List only resources with an owner or a waiter."),
    ] = False,
    secret_file: SecretOption = None,
) -> None:
    """List the tree of resources with owners and waiters."""
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
        list[str] | None, typer.Argument(help="Resources to take, all or none.")
    ] = None,
    url: UrlOption = DEFAULT_URL,
    owner: Annotated[
        str | None, typer.Option(help="Name of the owner; default: user and process.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(help="Longest wait in s; 0 tries once.")
    ] = 5.0,
    hold: Annotated[
        float | None,
        typer.Option(
            "--for", metavar="S", help="Time to hold in s; default: until Ctrl-C."
        ),
    ] = None,
    optional: Annotated[
        list[str] | None,
        typer.Option(
            help="Resource to add if free when the others are granted; repeatable."
        ),
    ] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PERCENT",
            help="Percentage of a shared resource, such as CPU=10; repeatable.",
        ),
    ] = None,
    priority: Annotated[
        int, typer.Option(help="Priority from 0 (low) to 9 (high).")
    ] = 0,
    policy: Annotated[
        str,
        typer.Option(
            help="Reaction to requests of others: lock (refuse), stop (release), "
            "pause (release, then resume) or callback (decide each time)."
        ),
    ] = "lock",
    time_to_live: Annotated[
        float,
        typer.Option(
            "--ttl",
            help="Time in s without a renewal after which the resources are released.",
        ),
    ] = 5.0,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Take resources, print the token and hold them until released."""
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
    token: Annotated[str, typer.Argument(help="Token printed by `take`.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Resources to release; default: all of the token."),
    ] = None,
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Release the resources of a token, or some of them."""
    from nao_testbed.controllers.arbitration.tokens import Token  # noqa: PLC0415  # heavy

    with _server(url, secret_file, json_file) as link:
        whole = Token.from_text(token)
        link.release(whole, tuple(names) if names else None)
    _write_result(json_file, "release", token=str(whole.id), resources=names or None)


@resources_app.command()
def add(
    name: Annotated[str, typer.Argument(help="Name of the resource, such as ball.")],
    parent: Annotated[
        str, typer.Option(help="Group in the resource tree to which it is added.")
    ] = "root",
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Add a resource to a running server."""
    with _server(url, secret_file, json_file) as link:
        link.add_resource(name, parent)
    _write_result(json_file, "add", resource=name, parent=parent)


@resources_app.command()
def upload(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="YAML file of rules and behaviours.")
    ],
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Upload a file of rules and behaviours to a server."""
    from nao_testbed.models.files.csv_tables import read_text_of  # noqa: PLC0415  # heavy

    with _server(url, secret_file, json_file) as link:
        installed = link.install(read_text_of(file), file.name)
    _write_result(json_file, "upload", **installed.model_dump(mode="json"))
    if json_file == STDOUT:
        return
    for owner in installed.owners:
        print(f"owner {owner}")
    for behaviour in installed.behaviours:
        print(f"behaviour {behaviour.name}{', runs' if behaviour.runs else ''}")


@resources_app.command()
def show(
    name: Annotated[str, typer.Argument(help="Name of an uploaded behaviour.")],
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Print an uploaded behaviour as sections of a scenario file."""
    with _server(url, secret_file, json_file) as link:
        found = link.definition(name).as_scenario()
    _write_result(json_file, "show", **found)
    if json_file != STDOUT:
        print(json_text(found))  # JSON is also YAML


@resources_app.command()
def start(
    name: Annotated[str, typer.Argument(help="Name of an uploaded behaviour.")],
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Reserve the resources of an uploaded behaviour until `stop`; print its tokens."""
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
    name: Annotated[str, typer.Argument(help="Name of an uploaded behaviour.")],
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Stop an uploaded behaviour and release its resources."""
    with _server(url, secret_file, json_file) as link:
        link.stop(name)
    _write_result(json_file, "stop", name=name)


@resources_app.command()
def revoke(
    names: Annotated[
        list[str], typer.Argument(help="Resources to revoke, all or none.")
    ],
    priority: Annotated[
        int | None,
        typer.Option(
            help="Revoke only from holders of lower priority; default: from all."
        ),
    ] = None,
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Revoke resources from all holders, until `give-back`."""
    with _server(url, secret_file, json_file) as link:
        link.take_away(*names, priority=priority)
    _write_result(json_file, "revoke", resources=names, priority=priority)


@resources_app.command(name="give-back")
def give_back(
    names: Annotated[
        list[str] | None, typer.Argument(help="Resources to return; default: all.")
    ] = None,
    url: UrlOption = DEFAULT_URL,
    json_file: JsonOption = None,
    secret_file: SecretOption = None,
) -> None:
    """Return resources revoked by `revoke` to the pool."""
    with _server(url, secret_file, json_file) as link:
        link.give_back(*names or ())
    _write_result(json_file, "give-back", resources=names or None)


@contextmanager
def _server(
    url: str, secret_file: Path | None, json_file: str | None
) -> Iterator["ServerLink"]:
    """Yield the link to a server after checking the requirements."""
    _check_installed()
    from nao_testbed.experiments.server.link import ServerLink  # noqa: PLC0415  # heavy

    check_json_file(json_file)
    with ServerLink(url, _secret(secret_file)) as link:
        yield link


def _write_result(json_file: str | None, command: str, **what: object) -> None:
    """Write the result of a command; null resources mean all."""
    write_json(json_file, json_text({"experiment": f"resources {command}", **what}))


def _check_installed() -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ExtraMissing("`nao-testbed resources`", ", ".join(missing), "server")


def _secret(path: Path | None) -> str | None:
    """Return the shared secret; never from the command line, which is public."""
    if path is not None:
        from nao_testbed.experiments.server.link import read_secret  # noqa: PLC0415  # heavy

        return read_secret(path)
    return os.environ.get(SECRET_VARIABLE) or None
