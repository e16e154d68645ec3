"""Services that programs fetch at start: some store what is set, some refuse."""
