"""What listens to a training: displays and logs. They change nothing."""
