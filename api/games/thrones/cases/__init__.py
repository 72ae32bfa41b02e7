"""Cases: positions with what must follow, ours and for other adjudicators (docs/cases.md)."""
