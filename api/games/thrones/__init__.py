"""A Game of Thrones: The Board Game for people to read: sentences, boards, cases, logs."""
