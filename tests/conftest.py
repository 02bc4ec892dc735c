"""Shapes and types of the inner layers are checked at call time; compiled programs are kept and shared."""

from pathlib import Path

import jax
from jaxtyping import install_import_hook

jax.config.update("jax_compilation_cache_dir", str(Path(__file__).parents[1] / ".jax_cache"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

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
