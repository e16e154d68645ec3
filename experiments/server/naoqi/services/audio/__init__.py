"""What is said and played by the loudspeakers."""
