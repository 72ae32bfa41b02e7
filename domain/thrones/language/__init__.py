"""What is said of a game and what a position is: pieces, answers, facts, the state and how facts change it."""
