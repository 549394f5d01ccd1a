package sandbox

import (
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied are system calls that no command needs and that reach outside the box or
// have a history of vulnerabilities: the session's keyrings, programs in the kernel,
// mounts and namespaces. ptrace is allowed: debuggers need it, and it cannot leave the
// process namespace.
var denied = []uintptr{
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_IO_URING_SETUP, unix.SYS_USERFAULTFD,
	unix.SYS_PERF_EVENT_OPEN, unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
	unix.SYS_DELETE_MODULE, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_PIVOT_ROOT, unix.SYS_UNSHARE,
	unix.SYS_SETNS, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_QUOTACTL, unix.SYS_ACCT, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	unix.SYS_REBOOT, unix.SYS_SYSLOG, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME,
}

// auditArch names the system call tables that filters are written for.
var auditArch = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64, "loong64": unix.AUDIT_ARCH_LOONGARCH64,
}

// setrlimit is the call of that name, which newer architectures do not have.
var setrlimit = map[uint32]uintptr{unix.AUDIT_ARCH_X86_64: 160, unix.AUDIT_ARCH_AARCH64: 164, unix.AUDIT_ARCH_RISCV64: 164}

const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// Offsets in struct seccomp_data, on little-endian machines.
const (
	dataNumber = 0
	dataArch   = 4
	dataArg0   = 16
	dataArg1   = 24
	dataArg2   = 32
	dataArg4   = 48
)

const x32Bit = 0x40000000

// filter says which sockets a seccomp program refuses beside what it always
// does.
type filter struct {
	noInet     bool // no IPv4 and IPv6 at all
	noDatagram bool // no UDP and raw sockets
	noOther    bool // nothing but IPv4, IPv6 and unix sockets
	noUnix     bool // no unix sockets but pairs
	watch      bool // has the calls told that reach other programs
	writes     bool // and those that change files
}

// restrictCalls puts the calling thread, and what it starts, under the filter.
func restrictCalls(f filter) error {
	_, err := f.install(0)
	return err
}

func (f filter) install(flags uintptr) (int, error) {
	arch, ok := auditArch[runtime.GOARCH]
	if !ok {
		return 0, unix.ENOSYS
	}
	code := f.program(arch)
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

// program writes the filter. Each block decides about one call, so that jumps
// stay within it.
func (f filter) program(arch uint32) []unix.SockFilter {
	refuse := ret(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
	code := []unix.SockFilter{
		load(dataArch),
		jump(unix.BPF_JEQ, arch, 1, 0),
		refuse, // another system call table, with other numbers
		load(dataNumber),
	}
	if arch == unix.AUDIT_ARCH_X86_64 {
		code = append(code, jump(unix.BPF_JGE, x32Bit, 0, 1), refuse)
	}
	for _, number := range denied {
		code = append(code, jump(unix.BPF_JEQ, uint32(number), 0, 1), refuse)
	}
	code = append(code, onCall(unix.SYS_IOCTL, load(dataArg1),
		jump(unix.BPF_JEQ, unix.TIOCSTI, 1, 0), jump(unix.BPF_JEQ, tiocLinux, 0, 1), refuse)...)
	code = append(code, onCall(unix.SYS_CLONE, load(dataArg0), jump(unix.BPF_JSET, newNamespaces, 0, 1), refuse)...)
	code = append(code, onCall(unix.SYS_SOCKET, f.sockets()...)...)
	// By this limit a command's processes are found, whatever becomes of their parents.
	if number, ok := setrlimit[arch]; ok {
		code = append(code, onCall(number, load(dataArg0), jump(unix.BPF_JEQ, unix.RLIMIT_RTTIME, 0, 1), refuse)...)
	}
	code = append(code, onCall(unix.SYS_PRLIMIT64, load(dataArg1), jump(unix.BPF_JEQ, unix.RLIMIT_RTTIME, 0, 5),
		load(dataArg2), jump(unix.BPF_JEQ, 0, 0, 1), load(dataArg2+4), jump(unix.BPF_JEQ, 0, 1, 0), refuse)...)
	if f.watch {
		tell := ret(unix.SECCOMP_RET_USER_NOTIF)
		for _, number := range []uintptr{unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_KILL, unix.SYS_PIDFD_SEND_SIGNAL} {
			code = append(code, onCall(number, tell)...)
		}
		code = append(code, onCall(unix.SYS_SENDTO, load(dataArg4), jump(unix.BPF_JEQ, 0, 1, 0), tell)...)
	}
	if f.writes {
		code = append(code, watchedWrites(ret(unix.SECCOMP_RET_USER_NOTIF))...)
	}
	return append(code, ret(unix.SECCOMP_RET_ALLOW))
}

const tiocLinux = 0x541c

// sockets decides about socket(family, type).
func (f filter) sockets() []unix.SockFilter {
	refuse := ret(unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES))
	code := []unix.SockFilter{load(dataArg0)}
	if f.noUnix {
		code = append(code, jump(unix.BPF_JEQ, unix.AF_UNIX, 0, 1), refuse)
	}
	switch {
	case f.noInet && f.noOther:
		return append(code, jump(unix.BPF_JEQ, unix.AF_UNIX, 1, 0), refuse)
	case f.noDatagram && f.noOther:
		return append(code,
			jump(unix.BPF_JEQ, unix.AF_UNIX, 6, 0),
			jump(unix.BPF_JEQ, unix.AF_INET, 1, 0),
			jump(unix.BPF_JEQ, unix.AF_INET6, 0, 3),
			load(dataArg1), unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf},
			jump(unix.BPF_JEQ, unix.SOCK_STREAM, 1, 0),
			refuse)
	}
	if f.watch {
		code = append(code, jump(unix.BPF_JEQ, unix.AF_NETLINK, 0, 3), load(dataArg2), jump(unix.BPF_JEQ, unix.NETLINK_SOCK_DIAG, 0, 1), ret(unix.SECCOMP_RET_USER_NOTIF), load(dataArg0))
	}
	// Sockets that name other machines or drivers by other means.
	for _, family := range []uint32{unix.AF_VSOCK, unix.AF_ALG, unix.AF_PACKET} {
		code = append(code, jump(unix.BPF_JEQ, family, 0, 1), refuse)
	}
	return code
}

// onCall runs a block for one system call and allows that call where the block
// does not decide.
func onCall(number uintptr, block ...unix.SockFilter) []unix.SockFilter {
	block = append(slices.Clone(block), ret(unix.SECCOMP_RET_ALLOW))
	return append([]unix.SockFilter{jump(unix.BPF_JEQ, uint32(number), 0, uint8(len(block)))}, block...)
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func jump(op uint16, value uint32, then, otherwise uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, Jt: then, Jf: otherwise, K: value}
}

func ret(verdict uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: verdict}
}
