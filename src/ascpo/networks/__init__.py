"""The networks: policy, critics, multipliers and shields, and how critics are fitted."""
