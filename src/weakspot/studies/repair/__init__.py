"""repair: train weak spots away, and prove what moved."""
