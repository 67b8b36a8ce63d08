"""Pictures of releases, plan sheets and public tables. Pure: data in, altair.Chart out."""
