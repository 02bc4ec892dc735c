"""Environments that users bring: any `gymnasium.Env` with a cost, tried out before it is trained on.

Inside this package `import gymnasium` is the library.
"""
