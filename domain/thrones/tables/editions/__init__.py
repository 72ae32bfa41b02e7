"""Editions: the tables as data, and which procedures each rulebook uses."""
