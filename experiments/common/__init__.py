"""Shared parts of the experiments: options, files, signals, progress, drawing."""
