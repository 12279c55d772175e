"""The studies: each reads from top to bottom like the method in its paper."""
