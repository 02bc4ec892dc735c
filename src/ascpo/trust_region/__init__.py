"""The numerical step: minimise a function near a point, under constraints, within a trust region.

This package works on vectors. It knows no policy, no reward and no cost.

`settings`, `clipped` and `projected` hold the users' settings and do not import JAX, so that the command line starts
quickly. The computations of a clipped and a projected step are in `descent` and `projection`.
"""
