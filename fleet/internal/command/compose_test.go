//go:build linux

package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/haftdev/haft/fleet/internal/command"
)

// The commands of the compose file, in the order in which it starts them, make a fleet that answers: here without
// containers, so in other folders and with another address.
func TestTheComposeFileWorks(t *testing.T) {
	t.Parallel()
	f := prepareFleet(t)
	c := command.ReadCompose(t)
	pair := command.WritePair(t)
	address, status := f.freeAddress(), f.freeAddress()
	_, port, _ := strings.Cut(address, ":")
	replace := strings.NewReplacer("0.0.0.0:4222", address, "tls://server:4222", "tls://localhost:"+port, "0.0.0.0:4280", status, "/tls/ca.pem", pair.Cert, "/tls/cert.pem", pair.Cert, "/tls/key.pem", pair.Key)
	mounted := regexp.MustCompile(`^/(store|keys|runs|tmp)\b`)
	args := func(service string) (list []string) {
		for _, arg := range c.Services[service].Command {
			list = append(list, replace.Replace(mounted.ReplaceAllString(arg, f.dir+"/$1")))
		}
		return list
	}
	server := f.start(args("server")...)
	t.Cleanup(func() { kill(server) })
	health := c.Services["server"].Healthcheck.Test
	waitFor(t, "the server to be healthy", func() bool {
		list := strings.Fields(mounted.ReplaceAllString(health[len(health)-1], f.dir+"/$1"))
		return exec.Command(health[1], append(health[2:len(health)-1:len(health)-1], list...)...).Run() == nil
	})
	if err := os.Mkdir(filepath.Join(f.dir, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.start(args("key")...).Wait(); err != nil {
		t.Fatal(err)
	}
	worker := f.start(args("worker")...)
	t.Cleanup(func() { kill(worker) })
	out := f.command(t, "submit", "--wait", "--dir", filepath.Join(f.dir, "project"), "--join", "tls://localhost:"+port, "--tls-ca", pair.Cert, "--key", f.key("operator"), "hello", "--", "--model=sonnet")
	if strings.TrimSpace(out) != "done" {
		t.Errorf("the answer is %q", out)
	}
}
