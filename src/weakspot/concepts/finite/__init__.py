"""Weak spots of inputs that are finite and answered: suggested by some of them, tested by the others."""
