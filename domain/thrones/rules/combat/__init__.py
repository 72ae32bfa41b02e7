"""Combat, step by step, with the House cards."""
