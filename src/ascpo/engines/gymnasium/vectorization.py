"""Copies of an environment, stepped side by side: one after the other, or each in a process of its own."""

from typing import Any

from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from ascpo.engines.gymnasium.errors import Unsuitable
from ascpo.engines.gymnasium.naming import MakeEnv


class _InTurn(SyncVectorEnv):
    """One environment after the other, in this process."""

    def _add_info(self, vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int) -> dict[str, Any]:
        return _kept_apart(vector_infos, env_info)


class _InProcesses(AsyncVectorEnv):
    """Each environment in a process of its own."""

    def _add_info(self, vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int) -> dict[str, Any]:
        return _kept_apart(vector_infos, env_info)


def _kept_apart(infos: dict[str, Any], info: dict[str, Any]) -> dict[str, Any]:
    # Gymnasium would put a cost of all environments into an array of the first one's type: where that says 0, an
    # integer, 0.7 of the next becomes 0.
    infos.setdefault("each", []).append(info)
    return infos


def in_turn(make: MakeEnv, num_envs: int) -> SyncVectorEnv[Any, Any]:
    return _InTurn([make] * num_envs, autoreset_mode=AutoresetMode.DISABLED)


def in_processes(make: MakeEnv, num_envs: int) -> AsyncVectorEnv[Any, Any]:
    try:
        # Forked beside the threads of JAX, a process may wait forever.
        return _InProcesses([make] * num_envs, context="spawn", autoreset_mode=AutoresetMode.DISABLED)
    except (EOFError, ConnectionError) as error:
        raise Unsuitable(
            "An environment could not be made in a process of its own; what it said is above. What makes it must be "
            "importable there: a function of a module, and in a script behind if __name__ == '__main__'. Or do "
            "without processes."
        ) from error
