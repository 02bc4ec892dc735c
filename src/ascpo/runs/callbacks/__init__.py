"""Callbacks of a training: progress displays, loggers, and early stopping."""
