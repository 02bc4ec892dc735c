"""A page that shows runs while they train: their curves, and how far they are. It reads their logs alone."""
