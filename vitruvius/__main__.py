"""`python -m vitruvius`."""

from vitruvius.cli import script

script()
