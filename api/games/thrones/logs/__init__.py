"""Play-by-mail logs: tab-separated records of games that were played on a website (docs/logs.md)."""
