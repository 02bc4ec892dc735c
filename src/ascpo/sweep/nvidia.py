"""What the driver of NVIDIA's GPUs reports about them."""

import subprocess


def reported_by_gpus(figure: str) -> list[float]:
    """A figure of each GPU of this machine, such as `memory.total`. Empty if the driver does not report it."""
    command = ["nvidia-smi", f"--query-gpu={figure}", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout
        return [float(word) for word in answer.split()]
    except (OSError, ValueError, subprocess.SubprocessError):
        return []
