"""Play-by-mail logs played over on our engine: what they leave out is inferred, what they say is compared."""
