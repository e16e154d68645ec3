"""Services, one file each or a group of small ones; `table` lists them all."""
