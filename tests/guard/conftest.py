import jaxtyping
import pytest


@pytest.fixture
def unchecked_types(monkeypatch):
    """As a user runs it: wrong values reach the code that answers them."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
