"""A robot in real time, in a process of its own, and the operator who acts on it."""
