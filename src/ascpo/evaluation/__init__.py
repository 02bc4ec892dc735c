"""Evaluation: figures, records and certificates of a trained policy."""
