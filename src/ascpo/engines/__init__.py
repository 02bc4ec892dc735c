"""Engines: they step many environments while policies act, and return rollouts."""
