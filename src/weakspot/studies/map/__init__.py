"""map: the failure landscape of a model over a space of concepts."""
