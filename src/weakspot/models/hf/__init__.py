"""Models of transformers and sentence-transformers."""
