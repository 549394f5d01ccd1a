package needtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// An SSHD is a real SSH server on this machine for one test.
type SSHD struct {
	// Port is where it listens, on 127.0.0.1.
	Port int
	// Bin is a folder for the front of PATH. Its ssh is the real one, with a key that the
	// server accepts and with the server's key: ssh looks for those in the home of the account,
	// whatever HOME is.
	Bin string
}

// StartSSHD starts a server whose sessions have these variables, each as NAME=value, until the
// test ends. It is OpenSSH's, started for each connection, as by inetd, so that no port has to be
// guessed.
func StartSSHD(t testing.TB, environ ...string) *SSHD {
	t.Helper()
	ssh, keygen, program := Program(t, "ssh"), Program(t, "ssh-keygen"), Program(t, "/usr/sbin/sshd")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"host", "user"} {
		if out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-f", in(name)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	if os.Geteuid() == 0 { // where sshd confines what it does before the login
		_ = os.MkdirAll("/run/sshd", 0o755) // sshd says what is wrong
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &SSHD{Port: listener.Addr().(*net.TCPAddr).Port, Bin: in("bin")}
	hostKey, err := os.ReadFile(in("host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf("HostKey %s\nAuthorizedKeysFile %s\nPidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n", in("host"), in("user.pub"))
	if len(environ) > 0 {
		settings += "SetEnv"
		for _, e := range environ {
			settings += fmt.Sprintf(" %q", e)
		}
		settings += "\n"
	}
	for name, text := range map[string]string{
		"sshd_config": settings,
		"known_hosts": fmt.Sprintf("[127.0.0.1]:%d %s", s.Port, hostKey),
		"ssh_config":  fmt.Sprintf("IdentityFile %s\nIdentitiesOnly yes\nUserKnownHostsFile %s\nStrictHostKeyChecking yes\n", in("user"), in("known_hosts")),
		"bin/ssh":     fmt.Sprintf("#!/bin/sh\nexec '%s' -F '%s' \"$@\"\n", ssh, in("ssh_config")),
	} {
		if err := os.MkdirAll(filepath.Dir(in(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Create(in("log"))
	if err != nil {
		t.Fatal(err)
	}
	var sessions sync.WaitGroup
	sessions.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			file, err := conn.(*net.TCPConn).File()
			conn.Close()
			if err != nil {
				continue
			}
			cmd := exec.Command(program, "-i", "-e", "-f", in("sshd_config"))
			cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = file, file, log, []string{"PATH=" + os.Getenv("PATH")}
			sessions.Go(func() {
				_ = cmd.Run() // it ends with the connection, however that ends
				file.Close()
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		sessions.Wait()
		log.Close()
		if said, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("sshd said:\n%s", said)
		}
	})
	return s
}
