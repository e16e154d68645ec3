"""Engine-free control: the robot interface and the controllers behind it.

Names are imported when they are first used, from where `__init__.pyi` says: who asks
another robot for a ball need not wait for the dynamics.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
