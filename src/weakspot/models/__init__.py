"""Adapters to the outside world, one small file per library, imported only when named."""
