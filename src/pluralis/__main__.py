"""`python -m pluralis` is the `pluralis` command."""

from pluralis.cli.main import main

main()
