"""Web page of live robots: one page, one server, a 3-D view."""
