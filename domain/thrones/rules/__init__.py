"""The rules, a file or folder for each chapter, with its questions and its cards; steps named as the book has them."""
