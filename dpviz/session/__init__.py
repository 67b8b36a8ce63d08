"""Where data, price, chance and record meet: a session, its accountant (arithmetic) and its ledger (memory)."""

from dpviz.names import name_class_of

name_class_of(__name__)  # dv.session(...) is refused with the name of the class
