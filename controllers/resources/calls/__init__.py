"""Names that people know: the calls of the document and of the published service.

document                       the four calls of the resource manager (RM-9 to RM-12)
published                      those of the service that came of it
token_wallet, owner_places, taken_already    what these calls leave out: tokens, the
                               owners' tree, asking twice
"""

from controllers.resources.calls.document import DocumentCalls
from controllers.resources.calls.published import PublishedCalls

__all__ = ["DocumentCalls", "PublishedCalls"]
