"""What runs have to say for themselves: pages, figures, the journal in words. It reads files, and trains nothing."""
