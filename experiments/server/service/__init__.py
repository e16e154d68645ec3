"""Service of a reservation server, its HTTP routes, and access control."""
