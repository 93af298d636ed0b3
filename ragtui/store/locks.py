"""An advisory lock on an open file, which the system drops when its holder dies."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import msvcrt
    import os

    # Windows locks are mandatory for the locked bytes, so a byte far past any journal's end is taken.
    _PLACE = 1 << 60

    def try_lock(descriptor: int, shared: bool = False) -> bool:
        """Take the lock if it is free; `shared` has no meaning on Windows."""
        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _PLACE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, position, os.SEEK_SET)
        return True

    REMOVABLE_WHILE_OPEN = False
else:
    import fcntl

    def try_lock(descriptor: int, shared: bool = False) -> bool:
        """Take the lock if it is free, exclusive unless `shared`; it goes when the descriptor is closed.

        Raises OSError where the file system has no locks.
        """
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    REMOVABLE_WHILE_OPEN = True
