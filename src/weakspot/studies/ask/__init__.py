"""ask: which harmless questions a chat model refuses."""
