"""Many trainings: what to train, where its files are kept, what trains it, and how far it is."""
