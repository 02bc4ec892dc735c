"""`python -m ascpo` runs the command `ascpo` with this Python."""

from ascpo.cli.main import program

if __name__ == "__main__":
    program()
