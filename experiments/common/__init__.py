"""What several experiments share: options, files, signals, progress, drawing."""
