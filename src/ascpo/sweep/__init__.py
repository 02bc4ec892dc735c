"""Sweeps: many trainings, with jobs, executors, progress, and the store of their runs."""
