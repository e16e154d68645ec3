"""ALMotion, by the groups of its published pages; `al_motion` is all of it."""
