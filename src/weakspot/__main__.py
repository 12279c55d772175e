"""`python -m weakspot`: the same as `weakspot`."""

from weakspot.cli import main

if __name__ == "__main__":
    main()
