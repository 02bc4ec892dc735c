"""What happened: episodes, what a policy remembers of them, returns and advantages."""
