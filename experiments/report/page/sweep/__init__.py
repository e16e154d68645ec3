"""The section of a sweep: what was asked, what came of it, each trial."""
