"""Where data, price, chance and record meet: a session, its accountant (arithmetic) and its ledger (memory)."""
