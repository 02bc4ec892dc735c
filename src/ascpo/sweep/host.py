"""The process on one of several machines that train one policy: `python -m ascpo.sweep.host`.

The first line of its standard input is its part of the training as JSON. The rest is a lifeline, as in
`ascpo.sweep.worker`.
"""

import json
import sys
import threading
import traceback

from ascpo.sweep.worker import read_line, watch_lifeline


def main() -> None:
    plan = json.loads(read_line())
    threading.Thread(target=watch_lifeline, daemon=True).start()
    from ascpo.runs import multihost

    try:
        multihost.join(plan["coordinator"], plan["processes"], plan["number"])
        if plan["resume"]:
            multihost.resume(f"{plan['out']}/{plan['name']}", total_steps=plan["total_steps"], trust_env=True)
        else:
            own = {name: plan[name] for name in ("out", "name", "total_steps", "seed", "preset", "engine")}
            multihost.train(plan["env"], plan["algo"], **own, **plan["settings"])
    except Exception as error:
        # For the log: nobody may see the output of this machine.
        traceback.print_exc()
        sys.exit(" ".join(str(error).split()) or type(error).__name__)


if __name__ == "__main__":
    main()
