"""Schemas worth composing, and what they think with.

composites          choose, sequence, hold: who acts when
move                motions and commands, once or often; wave, greet, say
go_to_posture       along the transitions of the library; stand, sit, crouch
dance               from one stable stop to the next
look_around         attention and the head; a grid remembers what is where
idle                blink, breathe
balance             how firmly the robot stands; fuzzy turns words about measured
                    numbers into one number
fall                sees a fall and protects the robot in it
heat_and_battery    hot joints, cooling down, charge
common              what they share: ranges, times, needs, tasks

`controllers.schemas.registry` lists their names.
"""
