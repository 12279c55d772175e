"""Changes a model by its findings, and proves what moved. Nothing is here yet."""
