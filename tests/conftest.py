"""Shapes and types of the whole package are checked at call time; compiled programs are kept and shared."""

import functools
import gc
import importlib
import mmap
import os
import signal
from pathlib import Path

import hypothesis
import jaxlib
import jaxtyping
import pytest
from jaxtyping import install_import_hook

import tests.shapes  # The hook below finds it by its name.


def known(flag: str) -> bool:
    """XLA ends the process at a flag that it does not know, and has no list of those it does."""
    if tuple(map(int, jaxlib.__version__.split(".")[:2])) >= (0, 11):
        return False  # It has the name still, and ends all the same.
    library = Path(jaxlib.__file__).with_name("libjax_common.so")
    if not library.exists():
        return False
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(flag.encode()) >= 0


# In a new environment the first import of a module compiles it. All workers would begin with the same ones, and none
# would find anything. The second one begins with these, which do not import JAX.
if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
    for library in ("scipy.stats", "matplotlib.pyplot", "viser"):
        importlib.import_module(library)

# In the environment, before JAX is imported: so the other workers and every command that a test starts share them too.
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(Path(__file__).parents[1] / ".jax_cache")
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"

# Programs of tests are compiled once and run for moments: without fused loops and without optimisation XLA needs a
# quarter of the time for them, and of that another quarter less where a program is not split for threads that would
# compile its parts. With ASCPO_SLOW=1 they are compiled as users' are.
FLAGS = {"xla_cpu_use_fusion_emitters": "false", "xla_cpu_parallel_codegen_split_count": "1"}
if not os.environ.get("ASCPO_SLOW"):
    os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
    for flag, value in FLAGS.items():
        if flag not in os.environ.get("XLA_FLAGS", "") and known(flag):
            os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --{flag}={value}".strip()
# Every operation of a program would be written down with up to a hundred callers, of which most are pytest's.
os.environ["JAX_TRACEBACK_IN_LOCATIONS_LIMIT"] = "0"
# Programs are found by these flags, too. `set_up_compilation` would add this one later, and all were compiled again.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_gpu_autotune_level=0".strip()

# Whatever a shell starts in the background ignores Ctrl-C, and so would all commands that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tracing makes millions of objects, most of which stay: looking among them for rubbish took a third of the time.
gc.set_threshold(50_000, 20, 50)

# How long an example takes says nothing on a busy machine.
EXAMPLES = 100 if os.environ.get("ASCPO_SLOW") else 30
hypothesis.settings.register_profile("patient", deadline=None, max_examples=EXAMPLES)
hypothesis.settings.load_profile("patient")

INNER = ("engines", "experience", "guard", "networks", "surrogates", "theory", "trust_region")
OUTER = (
    "algorithms", "api", "cli", "environments", "evaluation", "paper", "replay", "report", "runs", "sweep", "training",
    "tuning", "watch",
)  # fmt: skip
jaxtyping.jaxtyped = tests.shapes.where_shapes_are(jaxtyping.jaxtyped)
install_import_hook([f"ascpo.{layer}" for layer in INNER], "beartype.beartype")
install_import_hook([f"ascpo.{layer}" for layer in OUTER], "tests.shapes.check_arrays")


@pytest.fixture(scope="session", autouse=True)
def one_context():
    """All programs are written in one context of MLIR.

    JAX makes one for each of them and loads all operations of all dialects into it, which took a twelfth of the time of
    tests.
    """
    from jax._src.interpreters import mlir

    if hasattr(mlir, "make_ir_context"):  # It is no part of JAX's interface.
        mlir.make_ir_context = functools.cache(mlir.make_ir_context)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A worker waits for the processes of clusters. It does so first, while there is work for the other core."""
    items.sort(key=lambda item: item.path.name != "test_clusters.py")


def pytest_sessionfinish() -> None:
    """Keep the last garbage collection short.

    pytest collects garbage once more at the end. Among the millions of objects that stay this may take longer than the
    five seconds after which xdist's worker interrupts itself, with a traceback of a KeyboardInterrupt.
    """
    gc.freeze()


@pytest.fixture
def unchecked_shapes():
    with tests.shapes.unchecked():
        yield
