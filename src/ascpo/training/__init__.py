"""Training: settings as data, one iteration and one loop for every algorithm."""
