"""The suites of the paper: robots, obstacles, goals and sensing, as pure functions of one environment."""
