"""Environments on an accelerator: physics, task and policy as one compiled program, by MuJoCo's MJX (an extra)."""
