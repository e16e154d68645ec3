"""One robot that stands under one controller: pushed, measured, fast-forwarded."""
