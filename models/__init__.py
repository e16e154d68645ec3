"""Robot descriptions as data, and the loader that validates them.

`__init__.pyi` lists the names; each is imported at first use, so that an error class
does not import the loader.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
