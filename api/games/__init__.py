"""The reading sides of the games: what is printed, read and imported. Nothing here is needed to rule."""
