"""Turn words into cases: text-to-image so far. The drawn world has its own source, the renderer."""
