#!/usr/bin/env bash
# The adapters' contract tests on a machine with CUDA, and what they ran against.
#
#   bash benchmarks/cuda_adapters.sh [LOG]
set -u
log=${1:-cuda-adapters.log}
limit=()  # where pytest-timeout is installed, no test takes longer than this
python3 -c 'import pytest_timeout' 2>/dev/null && limit=(--timeout=120)
export PYTHONPATH="src:${PYTHONPATH:-}" WEAKSPOT_CHARTS=plain
{
  python3 - <<'P'
import platform
from importlib.metadata import PackageNotFoundError, version

import torch

print("python", platform.python_version(), "| device", torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none")
for name in ("torch", "torchvision", "timm", "transformers", "diffusers", "peft", "onnxruntime", "sentence-transformers",
             "open_clip_torch", "typer", "click"):
    try:
        print(name, version(name))
    except PackageNotFoundError:
        print(name, "is not there")
P
  python3 -m pytest tests/models tests/world/test_generator.py -o addopts="" -o filterwarnings=default --import-mode=importlib \
    -p no:cacheprovider -q -rs --durations=5 ${limit[@]+"${limit[@]}"}
} 2>&1 | tee "$log"
