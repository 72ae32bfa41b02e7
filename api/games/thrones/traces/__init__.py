"""Games recorded by another implementation of the rules, replayed on ours."""
