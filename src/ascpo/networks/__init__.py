"""Who acts and who judges: the policy, the critics, and how critics are fitted."""
