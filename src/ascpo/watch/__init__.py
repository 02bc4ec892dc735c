"""A page that shows the curves and the progress of runs while they train. It only reads their logs."""
