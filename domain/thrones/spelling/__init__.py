"""How letters spell things: names, words and units, read forgivingly and written canonically (docs/notation.md)."""
