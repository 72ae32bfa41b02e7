"""The games Rookery adjudicates: pure rules, without clock, chance of their own, network or storage."""
