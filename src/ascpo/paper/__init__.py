"""The paper's tables and figures: what they need, what was published, and what of it can be reproduced."""
