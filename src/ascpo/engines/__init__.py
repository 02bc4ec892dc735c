"""How the world moves: simulators that turn actions into what the task sees."""
