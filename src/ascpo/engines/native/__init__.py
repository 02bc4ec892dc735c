"""Environments on the host: MuJoCo's batched simulations on threads, the task as compiled JAX programs."""
