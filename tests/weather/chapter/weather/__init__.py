"""The weather, a chapter that no book has: each House says whether it puts to sea, and who does so finds a Power.

All that there is to know about the decision stands in this folder; nothing else in the product names it.
"""

from domain.thrones.rules.weather import answers, sentences, steps

__all__ = ["answers", "sentences", "steps"]
