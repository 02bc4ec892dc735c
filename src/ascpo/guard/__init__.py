"""The world of the paper: robots, obstacles, goals, sensing. Pure functions of one environment; no engine inside."""
