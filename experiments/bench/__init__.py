"""What loop, controller, fast-forward and reservations cost, beside references."""
