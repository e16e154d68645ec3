"""What a browser loads and asks: one page, one server, a 3-D view."""
