"""Untrained runs: directories with the files that a run would have written."""

import json
from pathlib import Path

from ascpo.paper.experiments import Experiment, Training, Variant
from ascpo.paper.results import PaperStore
from ascpo.sweep.jobs import Job

TRPO, ASCPO, CPO, SCPO = (Variant(name, name) for name in ("trpo", "ascpo", "cpo", "scpo"))


def write_run(store, experiment, training, J_r=2.0, M_c=0.5, rho_c=0.001, epochs=None, **settings):
    """A run whose every epoch has these numbers. With fewer epochs than its config asks for, it was stopped."""
    run, config = store.run(experiment, training), training.config(store.scale, settings)
    run.path.mkdir(parents=True, exist_ok=True)
    run.config_file.write_text(json.dumps(config.plain()))
    rows = range(config.epochs if epochs is None else epochs)
    lines = ["Epoch,TotalEnvInteracts,EpRet,EpCost,CostRate,EpLen"]
    lines += [f"{i},{(i + 1) * 30_000},{J_r},{M_c},{rho_c},100" for i in rows]
    run.metrics.write_text("\n".join(lines) + "\n")
    return run


def job_for(store: PaperStore, experiment: Experiment, training: Training) -> Job:
    return Job(training.config(store.scale), store.run(experiment, training).path, experiment.evaluation)


def store_in(path: Path, scale: float = 0.01) -> PaperStore:
    """At this scale a training has two epochs."""
    return PaperStore(path, scale)
