"""The Westeros phase: its cards, supply, mustering, income, and bidding for the tracks."""
