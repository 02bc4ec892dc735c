"""A run: a training with a directory, which survives whatever stops it."""
