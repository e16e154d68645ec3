"""Who runs the trials of a sweep: this process, others of this machine, a cluster."""
