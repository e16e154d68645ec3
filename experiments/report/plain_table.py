"""The look of the tables that the commands print."""

from rich import box
from rich.table import Table
from rich.text import Text


def plain_table(title: str, caption: str | None = None) -> Table:
    """Return a table without columns: one line below the heads, texts at the left.

    Args:
        title: above it, bold; brackets in it are no markup, but text.
        caption: below it; None or empty: none.
    """
    return Table(
        title=Text(title, style="bold"),
        caption=caption or None,
        title_justify="left",
        caption_justify="left",
        caption_style="",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
    )
