"""`python -m pluralis` is the `pluralis` command."""

from pluralis.cli.main import main

if __name__ == "__main__":
    main()
