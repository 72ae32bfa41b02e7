"""House cards by House: what their texts do, in our own vocabulary."""
