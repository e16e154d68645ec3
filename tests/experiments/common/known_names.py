"""Replace growing lists of names in messages, for snapshots.

One snapshot, of `command/test_bad_input.py`, holds the lists themselves.
"""

import re

from nao_testbed.controllers.registry import BUILT_IN, VARIANTS
from nao_testbed.models import load_robot


def known_names() -> dict[str, list[str]]:
    """Return the growing kinds of names, each with the installed names."""
    return {
        "controllers": [*BUILT_IN, *VARIANTS],
        "postures": list(load_robot().postures),
    }


def without_lists(said: str) -> str:
    """Return a message with each list of known names replaced by one word."""
    for kind, names in known_names().items():
        said = said.replace(f"Known: {', '.join(names)}.", f"Known: all {kind}.")
    # the known kinds of events depend on the other imports
    return re.sub(r"Known: Opened, Reconfigured, [^.]*\.", "Known: all events.", said)
