"""Messages without the lists of names that grow: snapshots ask for the one name.

The lists themselves are in one snapshot, of `command/test_bad_input.py`.
"""

import re

from nao_testbed.controllers.registry import BUILT_IN, VARIANTS
from nao_testbed.models import load_robot


def known_names() -> dict[str, list[str]]:
    """Return what kinds of names grow, with those of the installation."""
    return {
        "controllers": [*BUILT_IN, *VARIANTS],
        "postures": list(load_robot().postures),
    }


def without_lists(said: str) -> str:
    """Return a message in which each whole list of names is one word."""
    for kind, names in known_names().items():
        said = said.replace(f"Known: {', '.join(names)}.", f"Known: all {kind}.")
    # which kinds of events are known depends on what else was imported
    return re.sub(r"Known: Opened, Reconfigured, [^.]*\.", "Known: all events.", said)
