from typer.testing import CliRunner

from experiments.cli import ORDER, app


def test_help_lists_every_command_in_the_order_a_user_meets_them() -> None:
    text = CliRunner().invoke(app, ["--help"]).output
    listed = text.partition("Commands:")[2].splitlines()
    names = [line.split()[0] for line in listed if line[:3].strip()]
    assert tuple(names) == ORDER
