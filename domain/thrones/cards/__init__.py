"""House cards by House, Westeros cards and wildling cards: what their texts do, in our own vocabulary."""
