"""Web page of live robots: one page, one server, a 3-D view.

The address is here, so that it can be claimed before the page is imported.
"""

import secrets
import socket
from dataclasses import dataclass, field, replace

from nao_testbed.experiments.server.service.address import ServerCfg, listen

MAX_CONNECTIONS = 100


@dataclass(frozen=True, kw_only=True)
class Address:
    """Address of a page, and the key for browsers."""

    port: int
    """Port; 0: a free port."""
    option: str = "--port"
    """Command-line option that sets the port."""
    key: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def url(self) -> str:
        """URL for the user's browser."""
        return f"http://127.0.0.1:{self.port}/?key={self.key}"

    def claim(self) -> tuple[socket.socket, "Address"]:
        """Return a listening socket, and the address with its actual port.

        Raises:
            BadInput: the port is not available.
        """
        cfg = ServerCfg(port=self.port, max_connections=MAX_CONNECTIONS)
        listener = listen(cfg, self.option)
        return listener, replace(self, port=listener.getsockname()[1])
