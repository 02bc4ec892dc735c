"""Runs: trainings with a directory of config, checkpoints, tables and policies, which can be stopped and resumed."""
