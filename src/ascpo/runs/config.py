"""A run's configuration, as frozen data: the same configuration gives the same numbers."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Literal, Unpack, get_origin, get_type_hints

from ascpo.algorithms import ALGORITHMS, Method
from ascpo.algorithms.outline import Outline, outline_of
from ascpo.algorithms.presets import PresetName
from ascpo.errors import InertSetting
from ascpo.guard.suites import is_suite
from ascpo.ranges import EpisodeSteps, Range, check, shown
from ascpo.runs.composition import (
    compose,
    defaults_for,
    inert_choices,
    method_class,
    preset_settings,
    refuse_unknown,
    without,
)
from ascpo.runs.keywords import SettingKeywords
from ascpo.runs.migration import migrate
from ascpo.runs.sealed import fingerprint_of
from ascpo.runs.serialization import (
    BadSetting,
    Plain,
    changed,
    differences,
    from_plain,
    to_plain,
    unflat,
    whole,
)
from ascpo.runs.source import PolicyKind
from ascpo.seeding import LATEST, SCHEMES, Version
from ascpo.training.settings import Settings, refuse_inert, refuse_unkeepable

if TYPE_CHECKING:
    from ascpo.algorithms import Algorithm

EngineName = Literal["native", "mjx-jax", "mjx-warp"]
FINAL_POLICY: PolicyKind = "average"
"""The final policy of new runs. Runs with a preset keep the last one, as the paper does."""
VALIDATION_EPISODES = 1000
_BEFORE: Plain = {
    "engine": "native",
    "preset": None,
    "seeding": 1,
    "max_episode_steps": None,
    "final_policy": "last",
    "validation_episodes": VALIDATION_EPISODES,
}
"""Values of fields that configs of earlier versions lack."""
_SETTINGS_BEFORE = {"replay": to_plain(Settings().replay), "normalise_observations": False}
"""Values of shared settings that configs of earlier versions lack."""


@dataclass(frozen=True)
class Config:
    """Everything that determines the numbers of a run."""

    env: str
    seed: int = 0
    total_steps: Annotated[int, Range(at_least=1, at_most=10**15)] = 6_000_000
    engine: EngineName = "native"
    """The simulator of a suite: `native` uses the host's cores, MJX an accelerator."""
    settings: Settings = field(default_factory=Settings)
    method: Method = field(default_factory=ALGORITHMS["ascpo"])
    """The algorithm's own settings. Their class identifies the algorithm."""
    preset: PresetName | None = None
    """The preset that the settings were derived from. It is a note: only the settings change numbers."""
    seeding: Version = LATEST
    """The version of the rules by which scenes are drawn (`ascpo.seeding`)."""
    max_episode_steps: EpisodeSteps | None = None
    """Steps after which episodes of your own environment are truncated. None leaves that to the environment."""
    final_policy: PolicyKind = FINAL_POLICY
    """The policy that remains of the training: the last one, the mean of the last ones, or the one of them that is best
    on validation scenes. It changes no number of the training."""
    validation_episodes: Annotated[int, Range(at_least=1, at_most=10**6)] = VALIDATION_EPISODES
    """Episodes that each candidate plays before one is selected."""

    def __post_init__(self) -> None:
        check(self)
        if self.seed not in range(seeds := SCHEMES[self.seeding].run_seeds):
            raise BadSetting(f"seed={shown(self.seed)} must be a whole number from 0 to {seeds - 1}.")
        if self.max_episode_steps is not None and self.engine != "native":
            raise BadSetting("max_episode_steps is for your own environments, and MJX simulates suites only.")
        if type(self.method) not in ALGORITHMS.values():
            raise BadSetting(
                f"method={shown(self.method)} belongs to no algorithm. Use configure(env, algo), or add its class to "
                f"ascpo.algorithms.ALGORITHMS."
            )
        preset_settings(self.preset, self.algo)
        if self.final_policy != "last" and not self.settings.kept_policies:
            raise BadSetting(
                f"final_policy={self.final_policy} needs the policies of the last epochs. Use average_epochs=20 "
                f"or final_policy=last."
            )
        if self.final_policy != "selected" and self.validation_episodes != VALIDATION_EPISODES:
            raise InertSetting("validation_episodes", self.validation_episodes, "they are for final_policy=selected")

    @property
    def algo(self) -> str:
        return next(name for name, kind in ALGORITHMS.items() if kind is type(self.method))

    @property
    def epochs(self) -> int:
        """Number of epochs: the total steps, divided by the steps of an epoch and rounded up."""
        return -(-self.total_steps // (self.settings.num_envs * self.settings.horizon))

    @property
    def of_engine(self) -> dict[str, Hashable]:
        """The settings that must be equal in all runs that share an engine."""
        names = ["env", "engine", "total_steps", "max_episode_steps", "num_envs", "horizon", "carry"]
        if not is_suite(self.env):
            # Then the engine needs the limits: a diverged simulation ends its episode above all of them.
            names.append("limits")
        return {name: getattr(self if hasattr(self, name) else self.settings, name) for name in names}

    @property
    def fingerprint(self) -> str:
        """Runs with the same fingerprint can continue from each other's checkpoints."""
        return fingerprint_of(self.plain())

    def refuse_inert(self) -> "Config":
        """The same config, or an error for a setting that changes nothing. Files of earlier versions need no check."""
        refuse_inert(self.settings, self.outline)
        refuse_unkeepable(self.settings, self.outline)
        return self

    @property
    def outline(self) -> Outline:
        """The description of the algorithm that does not need JAX."""
        return outline_of(self.method, self.settings.probability)

    def algorithm(self) -> "Algorithm":
        return self.method.build(self.settings.probability)

    def name(self) -> str:
        """The default name of the run's directory: environment, algorithm, preset, its mode if unusual, seed."""
        usual, hints = compose(self.env, self.algo, {}, self.preset)[1], get_type_hints(type(self.method))
        modes = [
            getattr(self.method, name)
            for name, hint in hints.items()
            if get_origin(hint) is Literal and getattr(self.method, name) != getattr(usual, name)
        ]
        preset = [self.preset] if self.preset else []
        return "-".join([for_file_name(self.env).strip("-"), self.algo, *preset, *modes, f"seed{self.seed}"])

    def plain(self) -> Plain:
        """Plain data for JSON. Fields with the value in `_BEFORE` are left out, to keep fingerprints of old runs."""
        plain: Plain = {"env": self.env, "algo": self.algo, "preset": self.preset, **to_plain(self)}
        shared = plain["settings"].items()
        plain["settings"] = {name: value for name, value in shared if (name, value) not in _SETTINGS_BEFORE.items()}
        return {name: value for name, value in plain.items() if (name, value) not in _BEFORE.items()}

    @staticmethod
    def from_plain(plain: Plain) -> "Config":
        """Read the plain data of this version or of an earlier one."""
        if not isinstance(plain, Mapping):
            raise BadSetting("the settings are not a dictionary.")
        if not plain.get("env"):
            raise BadSetting("the settings name no environment.")
        plain = _BEFORE | migrate(dict(plain))
        method = _method(method_class(plain.pop("algo", "ascpo")), plain.pop("method"))
        settings = from_plain(Settings, plain.pop("settings"))
        return changed(Config("", settings=settings, method=method), plain)


def for_file_name(text: str) -> str:
    """The text with a dash for every character that is not fit for the name of a directory."""
    return "".join(letter if letter.isalnum() or letter in "-+._" else "-" for letter in text)


def _method(kind: type[Method], stored: Mapping[str, object]) -> Method:
    """The stored settings of an algorithm. Earlier versions allowed settings that change nothing: these are dropped."""
    try:
        return from_plain(kind, stored)
    except InertSetting as inert:
        if inert.name not in stored:
            raise
        return _method(kind, {name: value for name, value in stored.items() if name != inert.name})


def configure_each(env: str, algos: Sequence[str], seeds: Sequence[int], chosen: Plain) -> list[Config]:
    """Configs of several algorithms and seeds from common settings. Each algorithm takes the settings that it has.

    A setting that no algorithm has is an error. A `preset` among the settings applies to all algorithms.
    """
    inert = [inert_choices(env, algo, chosen, chosen.get("preset")) for algo in algos]
    for name, error in inert[0].items():
        if all(name in others for others in inert):
            raise error
    acting = [without(names, chosen) for names in inert]
    return [configure(env, algo, seed=s, **mine) for algo, mine in zip(algos, acting, strict=True) for s in seeds]


def configure(
    env: str,
    algo: str = "ascpo",
    *,
    preset: PresetName | None = None,
    seed: int = 0,
    total_steps: float = 6e6,
    engine: EngineName = "native",
    seeding: Version = LATEST,
    max_episode_steps: int | None = None,
    final_policy: PolicyKind | None = None,
    validation_episodes: int = VALIDATION_EPISODES,
    **chosen: Unpack[SettingKeywords],
) -> Config:
    """A config from the names and values of settings, shared ones and the algorithm's own.

    Settings that are not given are those of the preset, or our defaults for the environment.
    """
    refuse_unknown(algo, chosen)
    seed, steps = whole("seed", seed), whole("total_steps", total_steps)
    final_policy = final_policy or (FINAL_POLICY if preset is None else "last")
    how = (preset, seeding, max_episode_steps, final_policy, validation_episodes)
    return Config(env, seed, steps, engine, *compose(env, algo, dict(chosen), preset), *how).refuse_inert()


def preset_config(env: str, algo: str, preset: PresetName) -> Config:
    """The config of a preset, without any other choice."""
    settings, method = compose(env, algo, {}, preset)
    return Config(env, settings=settings, method=method, preset=preset, final_policy="last")


def based_on(config: Config, env: str, algo: str) -> Config:
    """The config for another environment or algorithm. Choices are kept, and all other settings get its defaults.

    Settings of a preset count as choices. Another algorithm starts with the defaults of its own settings.
    """
    same = algo == config.algo
    if config.preset or (same and defaults_for(env, algo) == defaults_for(config.env, algo)):
        other = config if same else replace(config, method=method_class(algo)(), preset=None)
        return replace(other, env=env)
    settings, method = defaults_for(config.env, config.algo)
    chosen = differences(settings, config.settings) | (differences(method, config.method) if same else {})
    settings, method = compose(env, algo, unflat({name: now for name, (_, now) in chosen.items()}), None)
    return replace(config, env=env, settings=settings, method=method)
