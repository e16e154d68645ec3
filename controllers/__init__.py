"""Engine-free control: the robot interface and the controllers.

Names are imported on first use from the modules in `__init__.pyi`, so that users of the
robot interface do not wait for the import of the dynamics.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
