"""What each port promises, checked: used by `weakspot.testing` and by `weakspot doctor MODEL`."""
