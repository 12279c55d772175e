"""Where and how networks run: device, memory, batches, one model at a time on a GPU."""
