"""Our figures as SVG elements that follow the colours of the page around them.

Matplotlib writes inks, paper and the colours of curves as fixed values. Here they
become CSS variables of the page, so that a figure is readable on light and on dark
paper, on the screen and printed. Names within a figure get a prefix: several stand in
one page.
"""

import io
import re
from typing import TYPE_CHECKING

from experiments.report.figure_style import COLOURS, FAINT_INK, INK, SHADE, SOFT_INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VARIABLES = {
    INK: "--ink",
    SOFT_INK: "--soft",
    FAINT_INK: "--faint",
    SHADE: "--shade",
    "#ffffff": "--paper",
    "#000000": "--ink",
    **{colour: f"--c{i}" for i, colour in enumerate(COLOURS)},
}
"""Colours of the figures to variables of the page."""


def themed_svg(figure: "Figure", prefix: str) -> str:
    """Return a figure as an `<svg>` element for a page.

    Args:
        figure: of matplotlib.
        prefix: put before every id; letters, digits and hyphens.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'xlink:href="#', f'xlink:href="#{prefix}-', text)
    text = re.sub(r"url\(#", f"url(#{prefix}-", text)
    # The paper itself shows through; what covers a line with paper keeps covering it.
    text = re.sub(
        r'(<g id="\S+-patch_1">\s*<path [^>]*style="fill: )#ffffff',
        r"\1none",
        text,
        count=1,
    )
    for colour, variable in VARIABLES.items():
        text = re.sub(rf"\b(fill|stroke): {colour}", rf"\1: var({variable})", text)
    # What has no fill of its own is black.
    begin = text.index("<svg") + len("<svg")
    return f'{text[:begin]} aria-hidden="true" fill="var(--ink)"{text[begin:]}'
