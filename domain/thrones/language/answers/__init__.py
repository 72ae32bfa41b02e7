"""The answers to the 39 kinds of decision of section 26, by the chapters that ask, each with its spelling in letters.

Kinds and answer words are the keys of section 26. Fields that name the question (an area, a track) come with the
answer, so that a late letter cannot answer the wrong one.
"""

# In the order of the books, which is that of the kinds.
# isort: off
from domain.thrones.language.answers.base import *
from domain.thrones.language.answers.westeros import *
from domain.thrones.language.answers.wildlings import *
from domain.thrones.language.answers.planning import *
from domain.thrones.language.answers.action import *
from domain.thrones.language.answers.combat import *
