"""What is played: editions as data, what tables agree on, and which book their rulings cite."""
