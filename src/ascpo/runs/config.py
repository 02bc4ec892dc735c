"""A run's configuration, as frozen data: the same configuration gives the same numbers."""

import json
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal, Unpack, get_origin, get_type_hints

from ascpo.algorithms import ALGORITHMS, Method
from ascpo.algorithms.outline import Outline, outline_of
from ascpo.algorithms.presets import PRESETS, PresetName
from ascpo.algorithms.suite_defaults import suite_defaults
from ascpo.errors import InertSetting
from ascpo.guard.suites import is_suite, suite
from ascpo.ranges import EpisodeSteps, Range, check, shown
from ascpo.runs.keywords import SettingKeywords
from ascpo.runs.migration import RENAMED, migrate
from ascpo.runs.sealed import fingerprint_of
from ascpo.runs.serialization import (
    BadSetting,
    Plain,
    changed,
    differences,
    flat,
    from_plain,
    nearest,
    only,
    parse_json,
    to_plain,
    unflat,
    whole,
)
from ascpo.runs.source import HandOut
from ascpo.seeding import LATEST, SCHEMES, Version
from ascpo.training.settings import Settings, inert_settings, refuse_inert, refuse_unkeepable

if TYPE_CHECKING:
    from ascpo.algorithms import Algorithm

EngineName = Literal["native", "mjx-jax", "mjx-warp"]
HAND_OUT: HandOut = "average"
"""What new runs hand out, unless they have a preset: that hands out the last policy, as the paper does."""
VALIDATION_EPISODES = 1000
_BEFORE = {
    "engine": "native",
    "preset": None,
    "seeding": 1,
    "max_episode_steps": None,
    "hand_out": "last",
    "validation_episodes": VALIDATION_EPISODES,
}
"""What a config means that does not name them."""
_SETTINGS_BEFORE = {"replay": to_plain(Settings().replay), "normalise_observations": False}
"""The same of the shared settings."""


@dataclass(frozen=True)
class Config:
    """All that decides the numbers of a run."""

    env: str
    seed: int = 0
    total_steps: Annotated[int, Range(at_least=1, at_most=10**15)] = 6_000_000
    engine: EngineName = "native"
    """What moves a suite's robots: `native` uses the host's cores, MJX an accelerator."""
    settings: Settings = field(default_factory=Settings)
    method: Method = field(default_factory=ALGORITHMS["ascpo"])
    """The algorithm's own settings. Their class decides which algorithm it is."""
    preset: PresetName | None = None
    """The preset that the settings began with. It decides no number: the settings do."""
    seeding: Version = LATEST
    """The version of the rules by which scenes are drawn (`ascpo.seeding`)."""
    max_episode_steps: EpisodeSteps | None = None
    """Your own environment's episodes are truncated after so many steps. None leaves that to the environment."""
    hand_out: HandOut = HAND_OUT
    """The policy that the training hands out: the last one, the mean of the last ones, or the one of them that is best
    on validation scenes. It decides no number of the training."""
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
        if self.hand_out != "last" and not self.settings.kept_policies:
            raise BadSetting(
                f"hand_out={self.hand_out} needs the policies of the last epochs. Use average_epochs=20 "
                f"or hand_out=last."
            )
        if self.hand_out != "selected" and self.validation_episodes != VALIDATION_EPISODES:
            raise InertSetting("validation_episodes", self.validation_episodes, "they are for hand_out=selected")

    @property
    def algo(self) -> str:
        return next(name for name, kind in ALGORITHMS.items() if kind is type(self.method))

    @property
    def epochs(self) -> int:
        """As many as the steps need; the last one may go beyond."""
        return -(-self.total_steps // (self.settings.num_envs * self.settings.horizon))

    @property
    def of_engine(self) -> dict[str, Hashable]:
        """What runs have in common that share an engine: they take the same steps at the same time."""
        names = ["env", "engine", "total_steps", "max_episode_steps", "num_envs", "horizon", "carry"]
        if not is_suite(self.env):
            # There an episode whose simulation breaks down ends over the limits, which the engine has to know.
            names.append("limits")
        return {name: getattr(self if hasattr(self, name) else self.settings, name) for name in names}

    @property
    def fingerprint(self) -> str:
        """Runs with the same fingerprint can continue from each other's checkpoints."""
        return fingerprint_of(self.plain())

    def refuse_inert(self) -> "Config":
        """The same config, unless some setting changes nothing. New runs are checked, files of earlier ones are not."""
        refuse_inert(self.settings, self.outline)
        refuse_unkeepable(self.settings, self.outline)
        return self

    @property
    def outline(self) -> Outline:
        """What is known of the algorithm without JAX."""
        return outline_of(self.method, self.settings.probability)

    def algorithm(self) -> "Algorithm":
        return self.method.build(self.settings.probability)

    def name(self) -> str:
        """The default name of the run's directory: environment, algorithm, preset, its mode if unusual, seed."""
        usual, hints = _parts(self.env, self.algo, {}, self.preset)[1], get_type_hints(type(self.method))
        modes = [
            getattr(self.method, name)
            for name, hint in hints.items()
            if get_origin(hint) is Literal and getattr(self.method, name) != getattr(usual, name)
        ]
        env = "".join(letter if letter.isalnum() or letter in "-+._" else "-" for letter in self.env)
        preset = [self.preset] if self.preset else []
        return "-".join([env.strip("-"), self.algo, *preset, *modes, f"seed{self.seed}"])

    def plain(self) -> Plain:
        """Plain data for JSON. What configs from before there was a choice have not is left out: it is `_BEFORE`."""
        plain = {"env": self.env, "algo": self.algo, "preset": self.preset, **to_plain(self)}
        shared = plain["settings"].items()
        plain["settings"] = {name: value for name, value in shared if (name, value) not in _SETTINGS_BEFORE.items()}
        return {name: value for name, value in plain.items() if (name, value) not in _BEFORE.items()}

    def to_json(self) -> str:
        return to_json(self.plain())

    @staticmethod
    def from_plain(plain: Plain) -> "Config":
        """Read the plain data of this version or of an earlier one."""
        if not isinstance(plain, Mapping):
            raise BadSetting("the settings are no dictionary.")
        if not plain.get("env"):
            raise BadSetting("the settings name no environment.")
        plain = _BEFORE | migrate(dict(plain))
        method = _method(method_class(plain.pop("algo", "ascpo")), plain.pop("method"))
        settings = from_plain(Settings, plain.pop("settings"))
        return changed(Config("", settings=settings, method=method), plain)

    @staticmethod
    def from_json(text: str) -> "Config":
        return Config.from_plain(parse_json(text))


def _method(kind: type[Method], stored: Mapping[str, object]) -> Method:
    """The stored settings of an algorithm. Earlier versions let settings be changed that change nothing."""
    try:
        return from_plain(kind, stored)
    except InertSetting as inert:
        if inert.name not in stored:
            raise
        return _method(kind, {name: value for name, value in stored.items() if name != inert.name})


def to_json(plain: Mapping[str, object]) -> str:
    """The text of a config.json."""
    return json.dumps(plain, indent=2) + "\n"


def configure_each(env: str, algos: Sequence[str], seeds: Sequence[int], chosen: Plain) -> list[Config]:
    """Configs of several algorithms with common settings. Each algorithm takes those of them that act on it.

    A setting that acts on none of the algorithms is refused. `preset` among the settings is that of all algorithms.
    """
    inert = [_inert(env, algo, chosen, chosen.get("preset")) for algo in algos]
    for name, error in inert[0].items():
        if all(name in others for others in inert):
            raise error
    acting = [_without(names, chosen) for names in inert]
    return [configure(env, algo, seed=s, **mine) for algo, mine in zip(algos, acting, strict=True) for s in seeds]


def acting_settings(env: str, algo: str, chosen: Plain, preset: PresetName | None = None) -> Plain:
    """The settings that change something for an algorithm, of those that several algorithms share."""
    return _without(_inert(env, algo, chosen, preset), chosen)


def _inert(env: str, algo: str, chosen: Plain, preset: PresetName | None) -> dict[str, InertSetting]:
    settings, method = _parts(env, algo, chosen, preset)
    return inert_settings(settings, outline_of(method, settings.probability))


def _without(names: Container[str], chosen: Plain, group: str = "") -> Plain:
    """The settings but for those of these names. A group of which nothing is left goes, too."""
    kept: Plain = {}
    for name, value in chosen.items():
        inside = to_plain(value) if is_dataclass(value) else value
        if isinstance(inside, Mapping):
            if some := _without(names, dict(inside), f"{group}{name}."):
                kept[name] = some
        elif group + name not in names:
            kept[name] = value
    return kept


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
    hand_out: HandOut | None = None,
    validation_episodes: int = VALIDATION_EPISODES,
    **chosen: Unpack[SettingKeywords],
) -> Config:
    """A config from flat settings: those that all algorithms share, and the algorithm's own, by their names.

    The defaults for the environment come first, or a preset, and what is chosen replaces what they say.
    """
    refuse_unknown(algo, chosen)
    seed, steps = whole("seed", seed), whole("total_steps", total_steps)
    hand_out = hand_out or (HAND_OUT if preset is None else "last")
    how = (preset, seeding, max_episode_steps, hand_out, validation_episodes)
    return Config(env, seed, steps, engine, *_parts(env, algo, dict(chosen), preset), *how).refuse_inert()


def defaults_for(env: str, algo: str, given: Mapping[str, object] = MappingProxyType({})) -> tuple[Settings, Method]:
    """Our defaults for an environment, as far as they go with what is given, by its names on the command line."""
    return _built(algo, _defaults(env, algo, given))


def preset_config(env: str, algo: str, preset: PresetName) -> Config:
    """A config with all settings as a preset has them."""
    settings, method = _parts(env, algo, {}, preset)
    return Config(env, settings=settings, method=method, preset=preset, hand_out="last")


def based_on(config: Config, env: str, algo: str) -> Config:
    """A config for another environment or algorithm: what was chosen in this one, on the defaults of the other.

    What a preset set counts as chosen, and another algorithm has its own method with its defaults.
    """
    same = algo == config.algo
    if config.preset or (same and defaults_for(env, algo) == defaults_for(config.env, algo)):
        other = config if same else replace(config, method=method_class(algo)(), preset=None)
        return replace(other, env=env)
    settings, method = defaults_for(config.env, config.algo)
    chosen = differences(settings, config.settings) | (differences(method, config.method) if same else {})
    settings, method = _parts(env, algo, unflat({name: now for name, (_, now) in chosen.items()}), None)
    return replace(config, env=env, settings=settings, method=method)


def _parts(env: str, algo: str, chosen: Plain, preset: PresetName | None) -> tuple[Settings, Method]:
    """The shared settings and the algorithm's own: the defaults or a preset's, changed by those chosen."""
    given = flat(to_plain(chosen))
    begin = _defaults(env, algo, given) if preset is None else preset_settings(preset, algo)
    return _built(algo, begin, chosen)


def _defaults(env: str, algo: str, given: Mapping[str, object]) -> Plain:
    """What our defaults for an environment change in those for any environment."""
    return unflat(suite_defaults(algo, suite(env).robot.name, given)) if is_suite(env) else {}


def _built(algo: str, *layers: Plain) -> tuple[Settings, Method]:
    kind = method_class(algo)
    settings, method = Settings(), kind()
    for changes in layers:
        settings, method = changed(settings, only(changes, Settings)), changed(method, only(changes, kind))
    return settings, method


def preset_settings(preset: PresetName | None, algo: str) -> Plain:
    """What a preset sets for an algorithm; nothing without a preset."""
    if preset is None:
        return {}
    if not isinstance(preset, str) or preset not in PRESETS:
        raise BadSetting(f"{shown(preset)} is no preset. {nearest(str(preset), PRESETS)}")
    if algo not in PRESETS[preset]:
        raise BadSetting(f"{algo} is not in the preset {preset}: that has the paper's algorithms only. Leave it out.")
    return unflat(PRESETS[preset][algo])


def method_class(algo: str) -> type[Method]:
    if not isinstance(algo, str) or algo not in ALGORITHMS:
        raise BadSetting(f"{shown(algo)} is no algorithm. {nearest(str(algo), ALGORITHMS)}")
    return ALGORITHMS[algo]


def refuse_unknown(algo: str, names: Iterable[str]) -> None:
    """Refuse names that are no settings of an algorithm."""
    known = Settings.__dataclass_fields__.keys() | method_class(algo).__dataclass_fields__.keys()
    for name in names:
        if name not in known:
            raise BadSetting(f"{algo} has no setting {name!r}. {_hint(name, known)}")


def _hint(name: str, known: set[str]) -> str:
    if RENAMED.get(name) in known:
        return f"It is called {RENAMED[name]} now."
    if others := [other for other, kind in ALGORITHMS.items() if name in kind.__dataclass_fields__]:
        return f"{' and '.join(others)} {'has' if len(others) == 1 else 'have'} it."
    return nearest(name, sorted(known))
