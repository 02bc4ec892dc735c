"""`python -m benchmarks.adversary`. The campaign is a module apart: processes that it starts find it by its name."""

from benchmarks.adversary.campaign import main

main()
