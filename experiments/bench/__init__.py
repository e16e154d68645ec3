"""What loop, controllers, fast-forward and scenarios cost, beside references."""
