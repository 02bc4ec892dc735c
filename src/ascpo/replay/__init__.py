"""Recorded episodes to look at: in the browser, or as a film."""
