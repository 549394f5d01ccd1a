//go:build unix

package toolhost_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/world/mcp/toolhost"
)

func TestAddressesBecomeArguments(t *testing.T) {
	h, err := toolhost.Parse("ssh://me@build.example:2222/srv/my%20project")
	if err != nil {
		t.Fatal(err)
	}
	s := h.Server()
	end := slices.Index(s.Args, "-l")
	if d := cmp.Diff([]string{"-l", "me", "-p", "2222", "--", "build.example"}, s.Args[end:len(s.Args)-1]); d != "" || s.Command != "ssh" || h.Dir != "/srv/my project" {
		t.Errorf("%s in %q (-want +got):\n%s", s.Command, h.Dir, d)
	}
	for _, option := range []string{"-T", "-a", "-oBatchMode=yes", "-oServerAliveInterval=15", "-oClearAllForwardings=yes"} {
		if !slices.Contains(s.Args[:end], option) {
			t.Errorf("ssh is started without %s: %q", option, s.Args)
		}
	}
	if h, err = toolhost.Parse("docker:web-1:/srv"); err != nil {
		t.Fatal(err)
	}
	if s = h.Server(); s.Command != "docker" || !slices.Equal(s.Args[:5], []string{"exec", "-i", "web-1", "sh", "-c"}) || !slices.Equal(s.Args[6:], []string{"sh", "/srv"}) {
		t.Errorf("%s %q", s.Command, s.Args)
	}
}

func TestForeignAddressesAreRefused(t *testing.T) {
	for _, address := range []string{
		"", "host", "/srv", "ssh://", "ssh:///srv", "ssh://host", "ssh://host/../srv\x00", "http://host/srv",
		"ssh://-oProxyCommand=touch%20x/srv", "ssh://-oProxyCommand=x/srv", "ssh://-l@host/srv", "ssh://$(id)/srv", "ssh://a b/srv", "ssh://host;id/srv",
		"ssh://me:secret@host/srv", "ssh://host:99999/srv", "ssh://host:-p/srv", "ssh://host/srv?x", "ssh://host/srv#x", "ssh://host/a%0Ab", `ssh://host/a%5Cb`, "ssh://@host/srv",
		"docker::/srv", "docker:-v:/srv", "docker:web", "docker:web:srv", "docker:web --privileged:/srv",
	} {
		if h, err := toolhost.Parse(address); err == nil {
			t.Errorf("%q became %q", address, h.Server().Args)
		}
	}
}

// TestTheFolderIsOneWordForTheShellThere lets real shells run what ssh would hand them.
func TestTheFolderIsOneWordForTheShellThere(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "haft"), []byte("#!/bin/sh\nprintf '%s|' \"$*\"; pwd\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain", "two words", "it's", "$(touch made)", "`touch made`", `"; touch made; "`, "-n", "a'; touch made; 'b", "ü*?"} {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		h, err := toolhost.Parse("ssh://host" + strings.NewReplacer("?", "%3F", "%", "%25").Replace(dir))
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		args := h.Server().Args
		for _, shell := range []string{"sh", "bash"} {
			cmd := exec.Command(shell, "-c", args[len(args)-1])
			cmd.Dir, cmd.Env = root, []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=/nonexistent"}
			out, err := cmd.CombinedOutput()
			if want := "mcp serve|" + dir + "\n"; err != nil || string(out) != want {
				t.Errorf("%s in %q: %q, %v; want %q", shell, name, out, err, want)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(root, "made")); err == nil {
		t.Error("the name of a folder was run")
	}
}
