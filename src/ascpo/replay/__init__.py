"""Recorded episodes, shown in a browser or written as a video."""
