"""Wildling attacks by both books, and the wildling cards."""
