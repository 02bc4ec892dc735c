"""What can be said about a trained policy."""
