import jaxtyping
import pytest


@pytest.fixture
def unchecked_shapes():
    """Records of several runs have an axis more than their annotations say, and those of shapes have no arrays."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
