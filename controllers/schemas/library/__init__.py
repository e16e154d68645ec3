"""Built-in schemas, and their shared components.

composites          parents: choose, sequence, hold
move                motions and commands, once or repeatedly; frames, wave, greet, say
go_to_posture       along the transitions of the library; stand, sit, crouch
dance               motion in parts between stable stops
look_around         attention and the head; a grid of seen directions
idle                blink, breathe
balance             estimate of the robot's stability
fuzzy               fuzzy control: one number from words for measured numbers
fall                detection of a fall and protection during it
heat_and_battery    hot joints, cooling down, charge
common              shared functions: ranges, times, needs, tasks

`controllers.schemas.registry` lists their names.
"""
