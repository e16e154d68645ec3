"""The form of a sweep file."""
