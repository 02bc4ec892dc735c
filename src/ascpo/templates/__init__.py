"""Files that `ascpo new-env` writes. The environment is a module, so that it is checked as users get it."""
