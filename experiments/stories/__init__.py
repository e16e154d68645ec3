"""Short stories of behaviours on a robot, told line by line."""
