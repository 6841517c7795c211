"""`python -m pluralis` is the `pluralis` command."""

from pluralis.present.cli import main

main()
