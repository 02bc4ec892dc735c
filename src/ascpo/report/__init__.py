"""Reports about runs: an HTML page, figures, and a journal of the optimiser's steps. They come from files alone."""
