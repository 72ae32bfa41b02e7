"""Adapters: games and cases written down in other words than ours."""
