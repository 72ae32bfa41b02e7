"""What every game shares: commands, facts, decisions, procedures, chance and the runner that joins them.

Nothing here knows a particular game. A game supplies a :class:`~domain.kernel.ruleset.Ruleset`.
"""
