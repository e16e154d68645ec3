"""Services for drivers and monitors: pictures of the cameras, and the log."""
