"""The one exception a user meets."""


class HoneError(Exception):
    """A mistake in what the user gave: one line saying where, what was seen and what was wanted."""
