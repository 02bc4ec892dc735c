"""Runs that nobody trained: directories with the files that a run would have left."""

from pathlib import Path

from ascpo.paper.experiments import Experiment, Training, Variant
from ascpo.sweep.jobs import Order
from ascpo.sweep.store import Shelf

TRPO, ASCPO, CPO, SCPO = (Variant(name, name) for name in ("trpo", "ascpo", "cpo", "scpo"))


def write_run(shelf, experiment, training, J_r=2.0, M_c=0.5, rho_c=0.001, epochs=None, **settings):
    """A run whose every epoch has these figures; with fewer epochs than it should have, one that was stopped."""
    run, config = shelf.run(experiment, training), training.config(shelf.scale, settings)
    run.path.mkdir(parents=True, exist_ok=True)
    run.config_file.write_text(config.to_json())
    rows = range(config.epochs if epochs is None else epochs)
    lines = ["Epoch,TotalEnvInteracts,EpRet,EpCost,CostRate,EpLen"]
    lines += [f"{i},{(i + 1) * 30_000},{J_r},{M_c},{rho_c},100" for i in rows]
    run.metrics.write_text("\n".join(lines) + "\n")
    return run


def order_for(shelf: Shelf, experiment: Experiment, training: Training) -> Order:
    run = shelf.run(experiment, training)
    return Order(training.config(shelf.scale), run.path, shelf.trouble(experiment, training), experiment.play)


def shelf_in(path: Path, scale: float = 0.01) -> Shelf:
    """At this scale a training has two epochs."""
    return Shelf(path, scale)
