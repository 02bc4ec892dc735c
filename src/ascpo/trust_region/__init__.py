"""The numerical step: minimise a function near a point, under constraints, within a trust region.

Knows vectors and products alone: no policy, no reward, no cost.
"""
