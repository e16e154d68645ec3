"""ALMemory: stored data, events with listeners, and the robot's device keys."""
