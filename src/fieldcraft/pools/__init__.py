"""Opinion pools: several models as one."""
