"""``python -m api`` is ``rookery``."""

from api.cli import main

main()
