package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// TestInheritedVariablesDoNotLeadIntoTheProject runs read-only commands in the environment that they get, where the session
// inherited variables by which programs run or load what the project holds.
func TestInheritedVariablesDoNotLeadIntoTheProject(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, marker := filepath.Join(top, "p"), filepath.Join(top, "p", "PWNED")
	write := func(name, text string) string {
		path := filepath.Join(project, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	evil := write("evil.sh", "#!/bin/sh\ntouch "+marker+"\n")
	config := "[diff]\n external = " + evil + "\n"
	user := write("gitcfg", config)
	write("xdg/git/config", config)
	write("a.txt", "one\n")
	if out, err := exec.Command("git", "-C", project, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git: %s", out)
	}
	if out, err := exec.Command("git", "-C", project, "add", "a.txt").CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	write("a.txt", "two\n")
	for _, c := range []struct{ variable, command string }{
		{"GIT_CONFIG_GLOBAL=" + user, "git diff"},
		{"XDG_CONFIG_HOME=" + filepath.Join(project, "xdg"), "git diff"},
		{"GIT_CONFIG_GLOBAL=./gitcfg", "git diff"},
		{"CC=" + evil, "go env"},
		{"CC=./evil.sh -x", "go env"},
		{"MAKEFLAGS=--eval=$(shell " + evil + ")", "make --version"},
	} {
		t.Run(c.variable+" "+c.command, func(t *testing.T) {
			words := strings.Fields(c.command)
			needtest.Program(t, words[0])
			home, err := os.MkdirTemp("", "home") // not t.TempDir: go may still write its counters when the test ends
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(home) })
			inherited := append(os.Environ(), "HOME="+home, c.variable)
			run := func(env []string) bool {
				os.Remove(marker)
				cmd := exec.Command(words[0], words[1:]...)
				cmd.Dir, cmd.Env = project, env
				_ = cmd.Run() // what it says does not matter, only what it does
				_, err := os.Stat(marker)
				return err == nil
			}
			if !run(inherited) {
				t.Skip("this version is not led by the variable")
			}
			opts := &Options{Cwd: project, Home: home, Roots: []string{project}, FS: OS{}, Environ: inherited}
			if a := Analyze(c.command, opts); !a.ReadOnly {
				t.Fatalf("%s is not read-only: %s", c.command, a.Reason)
			}
			hard, _ := Hardening(opts)
			env := slices.DeleteFunc(slices.Concat(inherited, hard), func(v string) bool {
				name, _, _ := strings.Cut(v, "=")
				return slices.Contains(hard, name+"=") // unset
			})
			if run(env) {
				t.Error("it ran a program of the project")
			}
		})
	}
}

func TestVariablesThatOnlySayWhereAreKept(t *testing.T) {
	opts := &Options{Cwd: "/p", Roots: []string{"/p"}, FS: OS{}, Environ: []string{"PWD=/p", "GOPATH=/p/go", "EDITOR=vim", "CC=/usr/bin/gcc", "X=/q/p", "LD_PRELOAD=/usr/lib/a.so:/p/x.so"}}
	if got := namesProject(opts); !slices.Equal(got, []string{"LD_PRELOAD="}) {
		t.Errorf("unset: %v", got)
	}
}
