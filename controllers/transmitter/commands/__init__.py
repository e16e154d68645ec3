"""From a command to its output commands, at the right moment.

pipeline     the stages of a command, in order; their front: the command controller
order        the record that goes through them: outputs, tokens, stage, receipts
planning     resolve and plan: outputs, the motion before, the way to the start
rights       admit: tokens of all outputs, and what is lent until their turn
posture      estimate of where the robot is
converter    motion, light and sound become streams, after some time
timing       settings, and the slots that they take
"""
