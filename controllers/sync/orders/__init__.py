"""Orders: from a command to its output commands, at the right moment.

command_controller      takes orders; with order_admission (the way there and the right
                        to it), joining, issuing (the right moment), order_endings
order_handle            what their senders keep; pending_order is the inside of it
output_set, content     what an order puts out; group_key, what it is known by
posture_way, posture_belief     from posture to posture
converter, delays       how long a conversion takes
transmitting            what orders ask of a transmitter
pipeline_cfg, pipeline_words, pipeline_trace    settings, reasons, events
"""
