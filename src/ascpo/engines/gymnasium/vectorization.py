"""Copies of an environment, stepped side by side: one after the other, or each in a process of its own."""

from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from ascpo.engines.gymnasium.errors import Unsuitable
from ascpo.engines.gymnasium.naming import Info, MakeEnv


class _InfosKeptApart:
    def _add_info(self, vector_infos: Info, env_info: Info, env_num: int) -> Info:
        # Gymnasium would put a cost of all environments into an array of the first one's type: where that says 0, an
        # integer, 0.7 of the next becomes 0.
        vector_infos.setdefault("each", []).append(env_info)
        return vector_infos


class _InTurn(_InfosKeptApart, SyncVectorEnv):
    """One environment after the other, in this process."""


class _InProcesses(_InfosKeptApart, AsyncVectorEnv):
    """Each environment in a process of its own."""


def in_turn(make: MakeEnv, num_envs: int) -> SyncVectorEnv:
    return _InTurn([make] * num_envs, autoreset_mode=AutoresetMode.DISABLED)


def in_processes(make: MakeEnv, num_envs: int) -> AsyncVectorEnv:
    try:
        # Forked beside the threads of JAX, a process may wait forever.
        return _InProcesses([make] * num_envs, context="spawn", autoreset_mode=AutoresetMode.DISABLED)
    except (EOFError, ConnectionError) as error:
        raise Unsuitable(
            "An environment could not be made in a process of its own; what it said is above. What makes it must be "
            "importable there: a function of a module, and in a script behind if __name__ == '__main__'. Or do "
            "without processes."
        ) from error
