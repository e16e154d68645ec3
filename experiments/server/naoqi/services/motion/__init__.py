"""ALMotion, divided like its published pages; `al_motion` combines the parts."""
