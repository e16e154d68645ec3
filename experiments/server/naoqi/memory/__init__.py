"""ALMemory: what is stored, who is told, and the device keys of the robot."""
