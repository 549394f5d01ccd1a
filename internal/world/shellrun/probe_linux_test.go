package shellrun

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/sandbox"
)

// A machine is one that lacks something, as this process makes itself one.
type machine struct {
	clone  uintptr // namespaces to be in
	lack   func() error
	kind   sandbox.Kind
	step   string // that fails
	reason string // in the message
	help   string // in the advice
	gap    string // of what works
}

const ( // in struct seccomp_data
	numberOffset = 0
	arg0Offset   = 16
)

// without makes system calls fail in this process and what it starts; with
// flags, only if one of them is in the first argument.
func without(errno syscall.Errno, flags uint32, calls ...uintptr) func() error {
	return func() error {
		refuse := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
		var code []unix.SockFilter
		for _, call := range calls {
			code = append(code,
				unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: numberOffset},
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 3, K: uint32(call)},
				unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: arg0Offset},
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: flags},
				refuse)
			if flags == 0 {
				code[len(code)-2] = unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: 0}
			}
		}
		code = append(code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
		prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
		_, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
		runtime.KeepAlive(code)
		if e != 0 {
			return e
		}
		return nil
	}
}

func all(steps ...func() error) func() error {
	return func() error {
		for _, step := range steps {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}
}

var machines = map[string]machine{
	"nothing is missing": {lack: all(), kind: sandbox.TierBox},
	"user namespaces are off": {
		clone: unix.CLONE_NEWUSER, lack: func() error { return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0) },
		kind: sandbox.TierLandlock, step: sandbox.StepStart, reason: "user namespaces are disabled", help: "sysctl -w user.max_user_namespaces",
	},
	"user namespaces are refused": {
		lack: without(unix.EPERM, unix.CLONE_NEWUSER, unix.SYS_CLONE),
		kind: sandbox.TierLandlock, step: sandbox.StepStart, reason: "not permitted here", help: "seccomp=unconfined",
	},
	"mounts are refused": {
		lack: without(unix.EACCES, 0, unix.SYS_MOUNT),
		kind: sandbox.TierLandlock, step: sandbox.StepMount, reason: "permission denied",
	},
	"an old kernel": {
		lack: without(unix.ENOSYS, 0, unix.SYS_MOUNT_SETATTR),
		kind: sandbox.TierLandlock, step: sandbox.StepMount, reason: "not implemented",
	},
	"the proxy cannot be reached": {
		lack: without(unix.EACCES, 0, unix.SYS_LISTEN),
		kind: sandbox.TierLandlock, step: sandbox.StepProxy, reason: "permission denied",
	},
	"a container that covers parts of /proc": {
		clone: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, lack: func() error { return unix.Mount("/dev/null", "/proc/uptime", "", unix.MS_BIND, "") },
		kind: sandbox.TierBox,
	},
	"a box in a box": {
		clone: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID, lack: func() error { return unix.Mount("proc", "/proc", "proc", 0, "") },
		kind: sandbox.TierBox,
	},
	"no Landlock": {
		lack: without(unix.ENOSYS, 0, unix.SYS_LANDLOCK_CREATE_RULESET),
		kind: sandbox.TierBox, gap: "no Landlock",
	},
	"nothing at all": {
		lack: all(without(unix.EPERM, unix.CLONE_NEWUSER, unix.SYS_CLONE), without(unix.EOPNOTSUPP, 0, unix.SYS_LANDLOCK_CREATE_RULESET)),
		kind: sandbox.TierNone, step: sandbox.StepStart, reason: "not permitted here",
	},
}

// lackEnv names the machine that the test process is to be.
const lackEnv = "SHELLRUN_TEST_LACK"

// The tier that is reported is the one that confines.
func TestTheTierReportedIsTheOneThatConfines(t *testing.T) {
	if name := os.Getenv(lackEnv); name != "" {
		machines[name].test(t)
		return
	}
	needtest.Need(t, needtest.Namespaces)
	for name, m := range machines {
		t.Run(name, func(t *testing.T) {
			for _, uid := range users() {
				dir, err := os.MkdirTemp("", "lack")
				if err != nil {
					t.Fatal(err)
				}
				defer os.RemoveAll(dir)
				if err := os.Chmod(dir, 0o777); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command("/proc/self/exe", "-test.run=^TestTheTierReportedIsTheOneThatConfines$")
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), lackEnv+"="+name, "TMPDIR="+dir, "HOME="+dir)
				cmd.SysProcAttr = m.attr(uid)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("as user %d: %v\n%s", uid, err, out)
				}
			}
		})
	}
}

func users() []int {
	if os.Geteuid() == 0 {
		return []int{0, 65534}
	}
	return []int{os.Geteuid()}
}

func (m machine) attr(uid int) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: m.clone}
	switch {
	case m.clone != 0: // as root of the namespace, whoever that is outside
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		if os.Geteuid() == 0 {
			attr.Credential = &syscall.Credential{Uid: 0, Gid: 0, NoSetGroups: true}
		}
	case uid != os.Geteuid():
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
	}
	return attr
}

func (m machine) test(t *testing.T) {
	if err := m.lack(); err != nil {
		t.Fatalf("become that machine: %v", err)
	}
	project, outside := t.TempDir(), t.TempDir()
	h := newTestHost(t, nil)
	tier := h.Tier(sandbox.Offline)
	if tier.Kind != m.kind {
		t.Fatalf("tier %s, want %s", tier, m.kind)
	}
	if m.step != "" {
		if f := tier.Failures; len(f) == 0 || f[0].Step != m.step || !strings.Contains(f[0].Error(), m.reason) || !strings.Contains(tier.Help(), m.help) {
			t.Errorf("failures %v, help %q", f, tier.Help())
		}
	}
	if m.gap != "" && !strings.Contains(strings.Join(tier.Gaps, "; "), m.gap) {
		t.Errorf("gaps %q", tier.Gaps)
	}
	s := h.NewShell(project)
	box := &sandbox.Spec{Write: []string{project}, Read: []string{outside}, Hide: []string{filepath.Join(outside, "secret")}}
	writeFiles(t, outside, map[string]string{"secret": "secret-text\n", "plain": "plain\n"})
	task, err := s.Run(t.Context(), Request{Command: `PARENT=` + strconv.Itoa(os.Getppid()) + `; echo 1 >made; cat made ` + outside + `/plain; cat ` + outside + `/secret 2>/dev/null; (: >` + outside + `/planted) 2>/dev/null && echo wrote; (: >/dev/tcp/127.0.0.1/1) 2>&1 | grep -o 'refused\|denied' | tail -1; [ $PARENT != 0 ] && kill -0 $PARENT 2>/dev/null && echo "a signal leaves"; mktemp -t x.XXXX >/dev/null || echo "no temporary file"; :`, Box: box})
	if m.step == sandbox.StepProxy { // without a proxy no command starts in the lower tier either
		if err == nil || !strings.Contains(err.Error(), "proxy") {
			t.Errorf("error %v", err)
		}
		return
	}
	if m.kind == sandbox.TierNone {
		if !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("a command that must be confined: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want := "1\nplain\nrefused\n"
	if m.kind == sandbox.TierLandlock {
		want = "1\nplain\ndenied\n"
	}
	if got := text(task); got != want || task.Result().Status.Tier != m.kind {
		t.Errorf("output %q, want %q; tier %s", got, want, task.Result().Status.Tier)
	}
	if _, err := os.Stat(filepath.Join(outside, "planted")); err == nil {
		t.Error("it wrote outside")
	}
}
