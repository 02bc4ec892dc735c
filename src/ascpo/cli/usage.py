"""A command line that cannot be read."""


class WrongUsage(ValueError):
    """An unknown command, or the like: exit status 2."""
