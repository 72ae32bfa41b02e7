"""The work: adjudicating what lies in the inboxes, in sessions that RQ hosts."""
