package shellrun

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/sandbox"
)

// hostile are scripts that try to reach beyond a box where nothing can be
// written. Each writes a line for what it has reached.
var hostile = map[string]string{
	"write by every door":       `for f in "$P"/planted /etc/planted /usr/planted /var/lib/planted /planted /run/../etc/planted /proc/self/cwd/planted /proc/self/root/etc/planted; do (: >"$f") 2>/dev/null && echo "wrote $f"; done`,
	"change what exists":        `chmod 777 "$P"/file 2>/dev/null && echo chmod; chown 0:0 "$P"/file 2>/dev/null && echo chown; touch -d 2001-01-01 "$P"/file 2>/dev/null && echo utime; ln "$P"/file "$P"/link 2>/dev/null && echo link; mv "$P"/file "$P"/moved 2>/dev/null && echo rename; truncate -s 0 "$P"/file 2>/dev/null && echo truncate; rm -f "$P"/file 2>/dev/null && echo unlink`,
	"the leader of the box":     `for f in environ mem maps root/etc cwd; do (cat /proc/1/$f || ls /proc/1/$f/) >/dev/null 2>&1 && echo "read /proc/1/$f"; done; for f in /proc/1/fd/*; do readlink $f; (: <$f) 2>/dev/null && echo "opened $f"; done; (: >/proc/1/root/etc/planted) 2>/dev/null && echo wrote`,
	"the threads of the leader": `for t in /proc/1/task/*; do ls $t/root/ >/dev/null 2>&1 && echo "saw $t/root"; cat $t/environ >/dev/null 2>&1 && echo "read $t/environ"; done`,
	"undo the mounts":           `mount -o remount,rw / 2>/dev/null && echo remounted; mount -o remount,bind,rw "$P" 2>/dev/null && echo remounted; umount -l "$P" 2>/dev/null && echo unmounted; umount -l ~/.ssh 2>/dev/null && echo unmounted; mount -t tmpfs x /mnt 2>/dev/null && echo mounted`,
	"namespaces of its own":     `unshare -Ur true 2>/dev/null && echo user; unshare -m true 2>/dev/null && echo mount; nsenter -t 1 -m true 2>/dev/null && echo entered; nsenter -t 1 -U true 2>/dev/null && echo entered`,
	"devices":                   `for d in /dev/*; do [ -b $d ] && echo "block device $d"; done; mknod /tmp/memory c 1 1 2>/dev/null && echo "made the memory"; mknod /tmp/disk b 254 0 2>/dev/null && echo "made a disk"; [ -e /dev/kmsg ] && echo kmsg; [ -e /dev/kvm ] && echo kvm; true`,
	"settings of the kernel":    `cat /proc/sys/kernel/core_pattern >/tmp/pattern; (cat /tmp/pattern >/proc/sys/kernel/core_pattern) 2>/dev/null && echo core_pattern; (echo 0 >/proc/sys/kernel/printk) 2>/dev/null && echo printk; (echo h >/proc/sysrq-trigger) 2>/dev/null && echo sysrq; for f in /sys/kernel/uevent_helper /sys/power/state /sys/fs/cgroup/cgroup.procs; do (: >$f) 2>/dev/null && echo $f; done; true`,
	"set-user-id programs":      `grep -q '^NoNewPrivs:.1' /proc/self/status || echo "new privileges"; grep -q '^Seccomp:.2' /proc/self/status || echo "no filter"`,
	"the secret":                `cat ~/.ssh/id 2>/dev/null; cat ~/.netrc 2>/dev/null; cat /proc/self/root/"$HOME"/.ssh/id 2>/dev/null; cat ~/link-to-ssh/id 2>/dev/null; grep -rs secret-text ~ ; true`,
	"the network":               `(echo planted >/dev/tcp/127.0.0.1/$TCP) 2>/dev/null && echo tcp; (echo planted >/dev/tcp/$OUTER/$TCP) 2>/dev/null && echo tcp; (echo planted >/dev/udp/127.0.0.1/$UDP) 2>/dev/null; (echo planted >/dev/udp/$OUTER/$UDP) 2>/dev/null; true`,
	"signals":                   `kill -0 $HARNESS 2>/dev/null && echo harness; for s in $(seq 1 64); do kill -$s 1 2>/dev/null; done; kill -0 $OTHER 2>/dev/null && echo "another command"; true`,
	"other commands":            `cat /proc/$OTHER/environ 2>/dev/null | tr '\0' '\n' | grep -i proxy; (: >/proc/$OTHER/root/$P/planted) 2>/dev/null && echo "wrote through another command"; (: >/proc/$OTHER/cwd/planted) 2>/dev/null && echo "wrote through its directory"; true`,
	"what others run first":     `for f in "$SCRATCH"/*; do [ -d $f ] || { (: >>"$f") 2>/dev/null && echo "wrote $f"; }; done; (: >"$SCRATCH"/planted) 2>/dev/null && echo "wrote in the scratch directory"; mv "$SCRATCH" "$SCRATCH"x 2>/dev/null && echo "moved the scratch directory"; true`,
}

func TestAHostileCommandReachesNothing(t *testing.T) {
	needtest.Need(t, needtest.Namespaces)
	asBoth(t, func(t *testing.T) {
		project, home := t.TempDir(), t.TempDir()
		writeFiles(t, project, map[string]string{"file": "text\n"})
		writeFiles(t, home, map[string]string{".ssh/id": "secret-text\n", ".netrc": "secret-text\n"})
		if err := os.Symlink(".ssh", filepath.Join(home, "link-to-ssh")); err != nil {
			t.Fatal(err)
		}
		before := tree(t, project)
		h := newTestHost(t, func(o *Options) {
			o.Environ = append(os.Environ(), "HOME="+home)
			o.EnvNames = []string{"P", "TCP", "UDP", "OUTER", "HARNESS", "OTHER", "SCRATCH"}
		})
		s := h.NewShell(project)
		other, err := s.Start(t.Context(), Request{Command: "echo $$ >new; mv new pid; exec sleep 600", Box: &sandbox.Spec{Write: []string{project}, Network: sandbox.Proxied}})
		if err != nil {
			t.Fatal(err)
		}
		if !awaitFile(filepath.Join(project, "pid")) {
			t.Fatal("the other command did not start")
		}
		pid, err := os.ReadFile(filepath.Join(project, "pid"))
		if err != nil {
			t.Fatal(err)
		}
		before["pid"] = string(pid)
		heard := listen(t)
		preset := fmt.Sprintf("P=%s HARNESS=%d OTHER=%s SCRATCH=%s %s\n", quote(project), os.Getpid(), strings.TrimSpace(string(pid)), quote(h.ready.shell.scratch), heard.names)
		box := &sandbox.Spec{
			Read: []string{project, home}, Scratch: []string{home}, KeepSignals: true,
			Hide: []string{filepath.Join(home, ".ssh"), filepath.Join(home, ".netrc"), filepath.Join(home, ".aws")},
		}
		for name, script := range hostile {
			if got := text(runBoxed(t, s, box, preset+script)); got != "" {
				t.Errorf("%s: %s", name, got)
			}
		}
		if got := tree(t, project); !equalTrees(got, before) {
			t.Errorf("the project is now %v", got)
		}
		if other.Ended() {
			t.Errorf("the other command was ended: %+v", other.Result())
		}
		heard.expectNothing(t)
	})
}

// heard is what comes from the network outside.
type heard struct {
	names string // variables for scripts
	lines chan string
}

func listen(t *testing.T) *heard {
	t.Helper()
	h := &heard{lines: make(chan string, 10)}
	tcp, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tcp.Close(); udp.Close() })
	go func() {
		for {
			c, err := tcp.Accept()
			if err != nil {
				return
			}
			h.lines <- "tcp from " + c.RemoteAddr().String()
			c.Close()
		}
	}()
	go func() {
		buffer := make([]byte, 100)
		for {
			n, from, err := udp.ReadFrom(buffer)
			if err != nil {
				return
			}
			h.lines <- "udp from " + from.String() + ": " + string(buffer[:n])
		}
	}()
	outer := "127.0.0.2"
	if addrs, err := net.InterfaceAddrs(); err == nil {
		for _, a := range addrs {
			if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
				outer = ip.IP.String()
			}
		}
	}
	h.names = fmt.Sprintf("TCP=%d UDP=%d OUTER=%s", tcp.Addr().(*net.TCPAddr).Port, udp.LocalAddr().(*net.UDPAddr).Port, outer)
	return h
}

// expectNothing sends a word itself: what was sent before would be heard first.
func (h *heard) expectNothing(t *testing.T) {
	t.Helper()
	_, port, _ := strings.Cut(h.names, "UDP=")
	port, _, _ = strings.Cut(port, " ")
	c, err := net.Dial("udp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("own")); err != nil {
		t.Fatal(err)
	}
	if got := <-h.lines; !strings.HasSuffix(got, ": own") {
		t.Errorf("outside was heard: %s", got)
	}
}

// Daemons listen in /run and /tmp; what speaks to them acts for the user.
func TestSocketsOfDaemonsAreNotThere(t *testing.T) {
	needtest.Need(t, needtest.Namespaces, "/usr/bin/perl")
	asBoth(t, func(t *testing.T) {
		dir := "/run"
		if os.Geteuid() != 0 {
			dir = os.TempDir()
		}
		path := filepath.Join(dir, fmt.Sprintf("haft-test-%d.sock", os.Getpid()))
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		const connect = `exec /usr/bin/perl -MIO::Socket::UNIX -e 'exit(IO::Socket::UNIX->new(Peer=>$ARGV[0]) ? 0 : 3)' `
		s := newTestHost(t, nil).NewShell("/")
		if code := run(t, s, connect+path).Result().Status.Code; code != 0 {
			t.Fatalf("not even an unconfined command reaches the socket: %d", code)
		}
		if code := runBoxed(t, s, &sandbox.Spec{}, connect+path).Result().Status.Code; code != 3 {
			t.Errorf("exit code %d, want 3: it could connect", code)
		}
	})
}

func TestProtectedPathsStay(t *testing.T) {
	needtest.Need(t, needtest.Namespaces)
	asBoth(t, func(t *testing.T) {
		project := t.TempDir()
		writeFiles(t, project, map[string]string{".git/config": "c\n", ".git/hooks/sample": "h\n", ".git/HEAD": "ref\n", "deep/a/b/file": "x\n"})
		in := func(name string) string { return filepath.Join(project, name) }
		box := &sandbox.Spec{Write: []string{project}, Protect: []string{in(".git/config"), in(".git/hooks"), in("deep/a/b/file"), in(".mcp.json"), in(".agent/settings.json")}}
		s := newTestHost(t, nil).NewShell(project)
		task := runBoxed(t, s, box, `{ echo x >>.git/config; echo x >.git/hooks/pre-commit; rm -r .git/hooks; mv .git git2; mv deep deep2; mv deep/a deep/c; rm -rf deep; ln -f HEAD .git/config; echo y >deep/a/b/file; } 2>/dev/null; echo two >.git/HEAD; echo new >file; git status >/dev/null 2>&1; ls -A`)
		if got := text(task); got != ".git\ndeep\nfile\n" {
			t.Errorf("it saw %q", got)
		}
		want := map[string]string{".git": "d---------", ".git/config": "c\n", ".git/hooks": "d---------", ".git/hooks/sample": "h\n", ".git/HEAD": "two\n",
			"deep": "d---------", "deep/a": "d---------", "deep/a/b": "d---------", "deep/a/b/file": "x\n", "file": "new\n"}
		if got := tree(t, project); !equalTrees(got, want) {
			t.Errorf("the project is %v", got)
		}
		// What does not exist can be made, and is taken back without a trace.
		task = runBoxed(t, s, box, `echo '{}' >.mcp.json; mkdir -p elsewhere; echo '{}' >elsewhere/settings.json; ln -s elsewhere .agent`)
		taken := task.Result().Status.Taken
		if len(taken) != 2 {
			t.Fatalf("taken back: %+v", taken)
		}
		if kept, err := os.ReadFile(taken[0].Kept); err != nil || string(kept) != "{}\n" {
			t.Errorf("what was taken back is lost: %q, %v", kept, err)
		}
		for _, k := range taken {
			os.RemoveAll(filepath.Dir(k.Kept))
		}
		want["elsewhere"], want["elsewhere/settings.json"] = "d---------", "{}\n"
		if got := tree(t, project); !equalTrees(got, want) {
			t.Errorf("the project is %v", got)
		}
	})
}

// Another program that replaces a protected file takes the mount on it away.
func TestAReplacedFileIsProtectedAgain(t *testing.T) {
	needtest.Need(t, needtest.Namespaces)
	project := t.TempDir()
	writeFiles(t, project, map[string]string{"guarded": "1\n", "next": "2\n", "secret": "3\n", "secret2": "4\n"})
	in := func(name string) string { return filepath.Join(project, name) }
	box := &sandbox.Spec{Write: []string{project}, Protect: []string{in("guarded")}, Hide: []string{in("secret")}}
	s := newTestHost(t, nil).NewShell(project)
	const try = `(echo x >>guarded) 2>/dev/null && echo wrote; cat secret`
	if got := text(runBoxed(t, s, box, try)); got != "" {
		t.Fatalf("it is not protected at all: %q", got)
	}
	if err := os.Rename(in("next"), in("guarded")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(in("secret2"), in("secret")); err != nil {
		t.Fatal(err)
	}
	if got := text(runBoxed(t, s, box, try)); got != "" || tree(t, project)["guarded"] != "2\n" {
		t.Errorf("output %q, the file is %q", got, tree(t, project)["guarded"])
	}
}

// A command may plant a link where a later Spec has a folder.
func TestAPlantedLinkIsNotFollowed(t *testing.T) {
	needtest.Need(t, needtest.Namespaces)
	project, outside := t.TempDir(), t.TempDir()
	added := filepath.Join(project, "added")
	s := newTestHost(t, nil).NewShell(project)
	runBoxed(t, s, &sandbox.Spec{Write: []string{project}}, "ln -s "+outside+" added")
	_, err := s.Run(t.Context(), Request{Command: "touch added/x", Box: &sandbox.Spec{Write: []string{added}, Read: []string{project}}})
	if err == nil || !strings.Contains(err.Error(), "too many levels of symbolic links") {
		t.Errorf("error %v", err)
	}
	if left := tree(t, outside); len(left) != 0 {
		t.Errorf("written outside: %v", left)
	}
}

// The kernel's marks in a layer cannot be forged.
func TestMarksOfALayerCannotBeForged(t *testing.T) {
	needtest.Need(t, needtest.Namespaces, "/usr/bin/python3")
	project, store := t.TempDir(), t.TempDir()
	writeFiles(t, project, map[string]string{"dir/file": "1\n"})
	layers, err := sandbox.NewLayers(store, project)
	if err != nil {
		t.Fatal(err)
	}
	defer layers.Remove()
	s := newTestHost(t, nil).NewShell(project)
	task := runBoxed(t, s, &sandbox.Spec{Layers: layers.List}, `touch dir/new; /usr/bin/python3 -c 'import os; os.setxattr("dir", "user.overlay.opaque", b"y")'; mknod dir/file2 c 0 0 2>/dev/null && echo made; cat dir/file`)
	if got := text(task); !strings.HasSuffix(got, "1\n") || strings.Contains(got, "made") {
		t.Errorf("output %q", got)
	}
	mark := make([]byte, 8)
	if n, err := unix.Getxattr(filepath.Join(layers.List[0].Upper, "dir"), "user.overlay.opaque", mark); err == nil {
		t.Errorf("the folder is marked as replaced: %q", mark[:n])
	}
}

// Killing the leader of a box ends everything in it, however fast it forks.
func TestNothingSurvivesTheLeaderOfABox(t *testing.T) {
	needtest.Need(t, needtest.Namespaces)
	asBoth(t, func(t *testing.T) {
		mark := fmt.Sprintf("3600.0%09d%03d", time.Now().UnixNano()%1e9, os.Getpid()%1000)
		project := t.TempDir()
		h := newTestHost(t, func(o *Options) { o.NoCgroup = true })
		s := h.NewShell(project)
		task, err := s.Start(t.Context(), Request{
			Command: `setsid sleep ` + mark + ` & chain() { : >ready; (chain &) ; }; chain; (ulimit -S -R 1000000; setsid sleep ` + mark + ` &); sleep ` + mark,
			Box:     &sandbox.Spec{Write: []string{project}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if !awaitFile(filepath.Join(project, "ready")) {
			t.Fatal("the command did not start")
		}
		pid, err := strconv.Atoi(boxOf(t, h))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-task.Done()
		expectNone(t, mark, 2*time.Second)
		if got := text(runBoxed(t, s, &sandbox.Spec{Read: []string{project}}, "echo again")); got != "again\n" {
			t.Errorf("the next command wrote %q", got)
		}
	})
}

// Commands of a session reach each other's servers, whatever confines them, and
// across calls.
func TestAServerIsReachedByTheNextCommand(t *testing.T) {
	needtest.Need(t, needtest.Namespaces)
	asBoth(t, func(t *testing.T) {
		project := t.TempDir()
		s := newTestHost(t, nil).NewShell(project)
		const serve = `exec /usr/bin/perl -MIO::Socket::INET -e '$|=1; $s = IO::Socket::INET->new(Listen=>5, LocalAddr=>"127.0.0.1:8080", ReuseAddr=>1) or die $!; open(F, ">ready"); close F; while ($c = $s->accept) { print $c "hello\n"; close $c }'`
		server, err := s.Start(t.Context(), Request{Command: serve, Box: &sandbox.Spec{Write: []string{project}, Network: sandbox.Proxied}})
		if err != nil {
			t.Fatal(err)
		}
		if !awaitFile(filepath.Join(project, "ready")) {
			t.Fatalf("the server did not start: %s", text(server))
		}
		for _, box := range []*sandbox.Spec{{Read: []string{project}, KeepSignals: true}, {Write: []string{project}}} {
			if got := text(runBoxed(t, s, box, "cat </dev/tcp/127.0.0.1/8080")); got != "hello\n" {
				t.Errorf("the next command read %q", got)
			}
		}
		if _, err := net.DialTimeout("tcp", "127.0.0.1:8080", time.Second); err == nil {
			t.Error("the server is on the machine's own network")
		}
		if p := server.PID(); p == 0 || syscall.Kill(p, 0) != nil {
			t.Errorf("the server's pid outside is not %d", p)
		}
	})
}
