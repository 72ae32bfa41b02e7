"""A Game of Thrones: The Board Game."""
