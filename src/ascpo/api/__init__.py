"""What Python and notebooks use beside `ascpo.train`: evaluate, certify and compare. `ascpo.NAME` is the short way."""
