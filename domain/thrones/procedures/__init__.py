"""The chapters of the rulebook, one file each, their steps named and ordered as the book has them."""
