"""Reservations: who may command what, and until when."""
