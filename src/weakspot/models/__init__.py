"""Adapters to the outside world, one small file per library, imported only when named."""

import os

# Threads of torch's OpenMP would spin while they wait for each other. On a busy machine that keeps the very
# threads from running that are waited for, and two become several times slower than one. The library reads
# this once, when torch is loaded, so it is said before any adapter does that.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
