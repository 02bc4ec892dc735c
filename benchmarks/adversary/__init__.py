"""An adversary: faults while files are written, damaged files under every verb, and hostile input.

python -m benchmarks.adversary                          # the whole campaign: an hour on two cores
python -m benchmarks.adversary --faults 20 --copies 20  # a short one
python -m benchmarks.adversary --only corruptions --seed 3

Every try has one outcome (see `outcome.py`). The exit status is 1 if one of them is `silent`, `traceback` or `lost`.
"""
