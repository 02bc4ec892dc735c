"""Shapes and types of the inner layers are checked at call time in every test."""

from jaxtyping import install_import_hook

install_import_hook(
    [
        "ascpo.guard",
        "ascpo.engines",
        "ascpo.theory",
        "ascpo.trust_region",
        "ascpo.networks",
        "ascpo.experience",
        "ascpo.surrogates",
    ],
    "beartype.beartype",
)
