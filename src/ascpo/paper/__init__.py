"""The paper's tables and figures: the runs that they need, the printed figures, and which claims are reproduced."""
