"""The paper's tables and figures: what they need, what the article prints, and what of it can be reproduced."""
