"""The numerical step: minimise a function near a point, under constraints, within a trust region.

Knows vectors and products alone: no policy, no reward, no cost.

`settings`, `clipped` and `projected` have what a user sets, and import no JAX, so that the command line reads its words
quickly. What a clipped and a projected step do is in `descent` and `projection`.
"""
