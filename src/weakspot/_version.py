"""The version, read by the build and by `weakspot --version`."""

__version__ = "0.1.0"
