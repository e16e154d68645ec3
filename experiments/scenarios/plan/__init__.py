"""What a runner gets: every name known, every time a whole slot, and no pydantic.

scenario                the whole; conditions, events, expectations
"""
