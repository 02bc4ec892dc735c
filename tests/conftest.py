"""Shapes and types of the inner layers are checked at call time; compiled programs are kept and shared."""

import gc
import os
from pathlib import Path

import hypothesis
from jaxtyping import install_import_hook

# In the environment, before JAX is imported: so the other workers and every command that a test starts share them too.
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(Path(__file__).parents[1] / ".jax_cache")
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"

# Tracing makes millions of objects, most of which stay: looking among them for rubbish took a third of the time.
gc.set_threshold(50_000, 20, 50)

# How long an example takes says nothing on a busy machine.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")

install_import_hook(
    [
        "ascpo.engines",
        "ascpo.experience",
        "ascpo.guard",
        "ascpo.networks",
        "ascpo.surrogates",
        "ascpo.theory",
        "ascpo.trust_region",
    ],
    "beartype.beartype",
)
