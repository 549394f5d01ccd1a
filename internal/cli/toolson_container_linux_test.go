package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/model/script"
)

// A container is one of podman's. Its program is that of this machine, read-only, so that no
// image has to be fetched.
type container struct {
	name    string
	options []string // of podman itself
}

// podman is the command that does something with the container.
func (c *container) podman(args ...string) *exec.Cmd {
	return exec.Command("podman", append(append([]string{}, c.options...), args...)...)
}

// startContainer starts a container with haft and the folder of a tool host, or skips the test.
func startContainer(t *testing.T, e *elsewhere) *container {
	t.Helper()
	if _, err := exec.LookPath("podman"); err != nil {
		t.Skip("podman is not installed, so tools in a real container are not tested")
	}
	root := t.TempDir()
	for _, name := range []string{"usr", "srv/project", "root", "tmp", "proc", "sys", "dev", "etc"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+name, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	run := []string{
		"run", "-d", "--network=none", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1000:1000", "-v", "/usr:/usr:ro", "-v", haftFolder(t) + ":/usr/local/bin:ro",
		"-v", e.dir + ":/srv/project", "-v", e.home + ":/root", "-e", "HOME=/root", "--name",
	}
	why := ""
	for n, options := range [][]string{nil, {"--runtime=runc", "--cgroup-manager=cgroupfs"}} {
		c := &container{name: fmt.Sprintf("haft-test-%d-%d", os.Getpid(), n), options: options}
		t.Cleanup(func() { _ = c.podman("rm", "-f", "-t", "0", c.name).Run() }) // it may not have started
		out, err := c.podman(append(run, c.name, "--rootfs", root, "/bin/sh", "-c", "while :; do sleep 1; done")...).CombinedOutput()
		if err == nil {
			return c
		}
		why += strings.TrimSpace(string(out)) + "; "
	}
	t.Skipf("podman cannot start a container here, so tools in one are not tested: %s", why)
	return nil
}

// TestToolsRunInARealContainer has podman in place of docker, whose command line it understands.
// The container has the calls and nothing else, and what ran in it ends when haft is killed.
func TestToolsRunInARealContainer(t *testing.T) {
	server := scripted(t, &script.Scenario{Turns: []script.Turn{
		callOf("mcp__toolhost__Bash", `{"command":"pwd; cat a.txt; env; touch made"}`),
		callOf("mcp__toolhost__Bash", `{"command":"touch started; sleep 1000"}`), saysDone(),
	}})
	e := newElsewhere(t, haftFolder(t), `{"permissions":{"allow":["Bash"]}}`, server)
	c := startContainer(t, e)
	bin := t.TempDir()
	text := fmt.Sprintf("#!/bin/sh\nexec podman %s \"$@\"\n", strings.Join(c.options, " "))
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(haftCommand(t), "-p", "--tools-on", "docker:"+c.name+":/srv/project", "go")
	cmd.Dir, cmd.Env = e.here, append(e.env, "PATH="+bin+":"+os.Getenv("PATH"))
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	inside := func() string {
		out, _ := c.podman("top", c.name, "args").CombinedOutput() // the container may be busy
		return string(out)
	}
	within := func(what string, holds func() bool) {
		t.Helper()
		for begin := time.Now(); !holds(); time.Sleep(100 * time.Millisecond) {
			if time.Since(begin) > time.Minute {
				t.Fatalf("waited in vain for %s; haft said %q, the container runs\n%s", what, errs.String(), inside())
			}
		}
	}
	within("the command", func() bool {
		_, err := os.Stat(filepath.Join(e.dir, "started"))
		return err == nil
	})
	got := strings.Join(requestsOf(t, server)[1].results, "")
	if !strings.Contains(got, "/srv/project") || !strings.Contains(got, "text of there") || strings.Contains(got, "sk-ant-of-here") || strings.Contains(got, e.here) {
		t.Errorf("the command returned %s", got)
	}
	if now := inside(); !strings.Contains(now, "haft mcp serve") || !strings.Contains(now, "sleep 1000") {
		t.Errorf("the container runs\n%s", now)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	within("the end of what ran there", func() bool {
		now := inside()
		return strings.Contains(now, "while :") && !strings.Contains(now, "haft mcp serve") && !strings.Contains(now, "sleep 1000")
	})
}
