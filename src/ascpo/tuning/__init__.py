"""Search for better settings: the largest return among those that keep the limits with the target probability."""
