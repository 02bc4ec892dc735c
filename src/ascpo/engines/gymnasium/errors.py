"""What is raised about an environment that a user brings."""


class Unsuitable(ValueError):
    """An environment that cannot be trained on: one sentence for each of its faults."""

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class Faulty(RuntimeError):
    """An environment that did, in the middle of a training, what no environment may."""
