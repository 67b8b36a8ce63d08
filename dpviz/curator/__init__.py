"""A curator: one process keeps the data and the ledger, and analysts ask it from their own notebooks.

`declaration` reads the file that declares the data set, by `fields`; `opening` opens the data that it names. `caps` are
limits for analysts and projects; `approvals` holds orders until they are decided, by `commands` or on the page of
`owner`, which `pages` writes. `service` is the process; `client` is `dv.connect`, a session whose answers the service
draws. `importing` makes a declaration of metadata of SmartNoise, Lomas (`smartnoise`) or Croissant, which `notation`
reads and `foreign` writes; `mock` makes up rows.
"""
