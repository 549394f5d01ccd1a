package rawfs

import "syscall"

const sysFstatat = syscall.SYS_NEWFSTATAT
