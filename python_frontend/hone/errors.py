"""What a user is told: the one exception, and warnings."""

import sys


class HoneError(Exception):
    """A mistake in what the user gave: one line saying where, what was seen and what was wanted."""


class UseDefinition(HoneError):
    """An emitter leaves a form out that torch's own definition of the operator may express; what it is, as a text."""


def warn(message: str) -> None:
    """Says in one line on stderr what the user may not expect; the export goes on."""
    print(f"warning: {message}", file=sys.stderr)
