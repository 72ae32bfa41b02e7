"""The record: envelope, sealed parts, digest chain, inbox and ledger on Redis Streams, export and verification.

Knows that there is a game (:class:`domain.kernel.game.BoardGame`), not which one.
"""
