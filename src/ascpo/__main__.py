"""`python -m ascpo` is the command `ascpo`, of the Python that is named."""

from ascpo.cli.main import program

if __name__ == "__main__":
    program()
