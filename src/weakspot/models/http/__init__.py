"""Models behind an address."""
