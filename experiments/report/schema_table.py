"""What schemas there are, as a table: a name, what it does, its parameters."""

from dataclasses import fields

from rich.table import Table
from rich.text import Text

from controllers.schemas.info import SchemaInfo
from controllers.schemas.registry import schema_class, schema_names
from models import BadInput
from models.plain_table import plain_table


def schema_table() -> Table:
    """Return the schemas of this installation; one that cannot be loaded says why."""
    table = plain_table("")
    table.add_column("schema", no_wrap=True)
    table.add_column("does", overflow="fold", ratio=1)
    table.add_column("with", overflow="fold", ratio=1)
    for name in schema_names():
        try:
            info = schema_class(name).info
        except BadInput as error:
            table.add_row(name, Text(str(error)), "")
            continue
        table.add_row(name, Text(info.about), Text(_parameters(info)))
    return table


def _parameters(info: SchemaInfo) -> str:
    made = info.parameters()
    shown = (f"{one.name}: {_flow(getattr(made, one.name))}" for one in fields(made))
    return ", ".join(shown)


def _flow(value: object) -> str:
    """Return a default as a file would write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_flow, value))}]"
    return '""' if value == "" else str(value)
