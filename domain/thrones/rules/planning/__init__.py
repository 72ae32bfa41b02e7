"""The planning phase (section 12)."""
