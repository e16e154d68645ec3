"""Speech and sounds of the loudspeakers."""
