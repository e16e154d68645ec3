"""Effectors in synchrony: from a command to what each device gets in each slot.

    command -- command controller -- converters -- transmitter -- gate -- devices

A command of the library becomes output commands for motion, light and sound; the
converters make streams of them; the transmitter lets the streams of a group start in
one slot [CN1396856, fig. 17].

command_controller      takes orders; with order_admission (the way there and the right
                        to it), issuing (the right moment), order_endings
order_handle            what their senders keep; pending_order is the inside of it
output_set, content     what an order puts out
posture_way, posture_belief     from posture to posture
converter, delays       how long a conversion takes
stream_maker            makes motion_stream (trajectory), light_stream, sound_stream
stream                  what the transmitter plays
transmitter             plays it, each group in one slot; what it needs is around it
pipeline_trace, trace   what the two halves tell
invariants              judges of that
"""
