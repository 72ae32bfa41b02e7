"""What a House answers, and how a letter spells it."""

from domain.thrones.language.answers.base import WordAnswer


class Weather(WordAnswer, frozen=True, tag="weather"):
    """Whether ships put to sea."""

    usage = "weather sail|stay"
    heads = ("skies",)
    words = {"sail": ("aye", "putout"), "stay": ("athome",)}
