"""What listens to a training: displays, logs, and what stops it early."""
