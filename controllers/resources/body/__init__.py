"""The body's part in the reservations: virtual owners, and which state is active.

virtual_owner                  occupies parts for a cause, and gives them back
absent_parts, hot_engine, broken_part, degraded_modes    the causes
posture_recogniser, posture_monitor                      the active state
"""
