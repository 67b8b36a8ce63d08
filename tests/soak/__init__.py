"""Long attacks: kills, hostile pages, hostile objects. `make test` runs a seeded twentieth, `make soak` all of it."""
