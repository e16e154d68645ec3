"""Command pipeline: from a command to timed output commands.

pipeline     the stages of a command, in order; the command controller calls them
order        the record of an order: outputs, tokens, stage, receipts
planning     resolve and plan: outputs, the preceding motion, the way to the start
rights       admit: tokens of all outputs, and loans until the turn of the order
posture      estimate of the robot's posture
converter    conversion of motion, light and sound to streams, with its duration
timing       settings, and their conversion to slots
"""
