"""The Python API besides `ascpo.train`: evaluate, certify and compare, available as `ascpo.NAME`."""
