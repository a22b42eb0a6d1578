"""`python -m fourbar`: the same as the command `fourbar`."""

from .cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
