"""Jobs, and the files that a finished run would have left."""

import json

from ascpo.runs.composition import acting_settings
from ascpo.runs.config import configure
from ascpo.seeding import LATEST
from ascpo.sweep.jobs import Job

SUITE = "Point-1-Hazard"
EPOCHS = 2
TINY = {
    "num_envs": 2,
    "horizon": 20,
    "hidden": (8, 8),
    "value_fit": {"iterations": 4, "batch_size": 32},
    "cost_fit": {"iterations": 4, "batch_size": 32, "window": 3},
    "trust_region": {"signal_every": 0},
    "probability": 0.999,
}


def job(store, algo="trpo", seed=0, env=SUITE, evaluation=None, seeding=LATEST, **settings):
    chosen = acting_settings(env, algo, TINY | settings)
    config = configure(env, algo, seed=seed, total_steps=EPOCHS * 40, seeding=seeding, **chosen)
    return Job(config, store / f"{env}-{algo}-seed{seed}", evaluation, checkpoint_every=0.0)


def short(jobs):
    """The names of jobs without their suite."""
    return [one.name.removeprefix(f"{SUITE}-") for one in jobs]


def write_run(job, epochs=None):
    """A run whose episodes have a hundred steps. With fewer epochs than its config asks for, it was stopped."""
    job.directory.mkdir(parents=True, exist_ok=True)
    job.run.config_file.write_text(json.dumps(job.config.plain()))
    rows = range(job.config.epochs if epochs is None else epochs)
    job.run.metrics.write_text("Epoch,EpLen\n" + "".join(f"{i},100\n" for i in rows))
    return job.run


class Recorder:
    """Progress that is remembered."""

    def __init__(self):
        self.started, self.errors, self.outcomes, self.updates = [], [], [], 0
        self.lost, self.nodes, self.trained, self.left = [], {}, [], []

    def start(self, batch):
        self.started.append(short(batch))

    def update(self):
        self.updates += 1

    def place(self, nodes):
        self.nodes = nodes

    def lose(self, batch, error):
        self.lost.append((*short(batch), error))

    def split(self, batch, error):
        self.errors.append((len(batch), error))

    def leave(self, batch):
        self.left += short(batch)

    def train(self, batch):
        self.trained.append(short(batch))

    def end(self, outcomes):
        self.outcomes += [(*short([one.job]), one.status) for one in outcomes]
