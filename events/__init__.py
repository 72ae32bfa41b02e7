"""The record: envelope, sealed parts, digest chain, inbox and ledger on Redis Streams, export and verification.

Knows that there is a ruleset (:mod:`events.rules`), not which one.
"""
