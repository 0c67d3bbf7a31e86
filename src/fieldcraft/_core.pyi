# The compiled core. Its functions check shapes and types at run time (native/bind); Python modules that
# call them state the types that users see.
from typing import Any

def __getattr__(name: str) -> Any: ...
