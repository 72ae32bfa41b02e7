"""What a ruling rests on, what an appeal leaves in doubt, and positions that are taken back, forked or checked."""
