"""The Gymnasium engine, for users' environments: any `gymnasium.Env` with a cost. It is inspected before a training.

Inside this package `import gymnasium` is the library.
"""
