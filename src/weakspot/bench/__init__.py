"""How good the methods are, where the truth is known."""
