"""Chat models of any provider: calls, faults, costs, pictures."""
