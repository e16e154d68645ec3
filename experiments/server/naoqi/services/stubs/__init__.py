"""Services that programs need at start: some store settings, some refuse calls."""
