//go:build linux && !amd64

package rawfs

import "syscall"

const sysFstatat = syscall.SYS_FSTATAT
