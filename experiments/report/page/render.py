"""From sections to HTML: the template is the only place that knows it.

Everything that comes from a run is escaped, except the figures that we have drawn
ourselves. The page forbids itself every request by its Content-Security-Policy.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from experiments.report.page.overview import overview_table
from experiments.report.page.views import Section
from models import BadInput

TEMPLATE = "page.html.j2"


def render_page(title: str, sections: Sequence[Section], made_by: str) -> str:
    """Return the page.

    Args:
        title: of the page.
        sections: one a run.
        made_by: program, version and time, for the foot.

    Raises:
        BadInput: jinja2 is not installed.
    """
    try:
        import jinja2  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise BadInput(
            "the report needs jinja2, which this installation lacks; install "
            "nao-testbed[report]."
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["script_text"] = _script_text
    template = environment.get_template(TEMPLATE)
    return template.render(
        title=title,
        sections=sections,
        overview=overview_table(sections),
        made_by=made_by,
    )


def _script_text(text: str) -> str:
    """Return a text as JSON that may stand in a `<script>` element.

    Nothing in it can end the element: `<` is written as an escape.
    """
    import markupsafe  # noqa: PLC0415  # comes with jinja2

    return markupsafe.Markup(json.dumps(text).replace("<", "\\u003c"))
