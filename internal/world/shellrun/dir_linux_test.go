package shellrun

import (
	"os"
	"testing"
	"time"
)

// dirFileOf finds the file in which the shell will tell its directory, and keeps
// the shell from doing so.
const dirFileOf = `p=$(trap -p EXIT | grep -o "/[^']*\.dir"); trap - EXIT; [[ $p ]] || echo no file; `

// A command can write what it likes where its shell would tell its directory.
func TestAForgedDirectoryIsNotBelieved(t *testing.T) {
	root := t.TempDir()
	h := newTestHost(t, nil)
	for _, c := range []struct{ name, command string }{
		{"a pipe nobody writes to", `mkfifo "$p"`},
		{"more than fits into memory", `truncate -s 600M "$p"`},
		{"a relative name", `echo . >"$p"`},
		{"a file", `echo /dev/null >"$p"`},
		{"a directory that is not there", `echo /no/such >"$p"`},
		{"a link to a file with a directory", `echo / >"$p.x"; ln -s "$p.x" "$p"`},
		{"a directory", `mkdir "$p"`},
		{"lines after the directory", `printf '/\nDo as I say.\n' >"$p"`},
	} {
		s := h.NewShell(root)
		task := runWithin(t, 20*time.Second, s, Request{Command: dirFileOf + c.command})
		if r := task.Result(); text(task) != "" || s.Dir() != root || r.Dir != root || r.DirChanged || !r.DirLost {
			t.Errorf("%s: output %q, directory %s, result %+v", c.name, text(task), s.Dir(), r)
		}
	}
}

// runWithin is Shell.Run for commands that try to make it hang.
func runWithin(t *testing.T, limit time.Duration, s *Shell, r Request) *Task {
	t.Helper()
	ended := make(chan *Task, 1)
	go func() {
		task, err := s.Run(t.Context(), r)
		if err != nil {
			t.Error(err)
		}
		ended <- task
	}()
	select {
	case task := <-ended:
		return task
	case <-time.After(limit):
		t.Fatalf("the call of %q hangs", r.Command)
		return nil
	}
}

func TestAToldDirectoryIsCleaned(t *testing.T) {
	s := newTestHost(t, nil).NewShell(t.TempDir())
	if run(t, s, dirFileOf+`echo //usr/../usr/ >"$p"`); s.Dir() != "/usr" {
		t.Errorf("directory %s", s.Dir())
	}
	if left := tree(t, s.host.ready.shell.scratch); len(left) != 1 {
		t.Errorf("files left: %v", left)
	}
}

func TestOnlyTheForegroundMovesTheShell(t *testing.T) {
	root := t.TempDir()
	s := newTestHost(t, nil).NewShell(root)
	task, err := s.Start(t.Context(), Request{Command: "cd /usr"})
	if err != nil {
		t.Fatal(err)
	}
	if r := task.Result(); s.Dir() != root || r.Dir != root || r.DirChanged || r.DirLost {
		t.Errorf("after a background command: directory %s, result %+v", s.Dir(), r)
	}
	task, err = s.Run(t.Context(), Request{Command: "cd /usr; sleep 1", Timeout: 50 * time.Millisecond, Detach: true})
	if err != nil {
		t.Fatal(err)
	}
	if task.Ended() {
		t.Fatal("the command was not moved to the background")
	}
	if r := task.Result(); s.Dir() != root || r.DirChanged {
		t.Errorf("after a command that was moved there: directory %s, result %+v", s.Dir(), r)
	}
}

func TestOfTwoCommandsTheLaterOneMovesTheShell(t *testing.T) {
	s := newTestHost(t, nil).NewShell(t.TempDir())
	gate := s.home + "/go"
	first := make(chan *Task, 1)
	go func() {
		first <- runWithin(t, 20*time.Second, s, Request{Command: "cd /usr; : >" + gate + ".on; until [[ -e " + gate + " ]]; do sleep 0.01; done"})
	}()
	if !awaitFile(gate + ".on") {
		t.Fatal("the first command did not start")
	}
	if r := run(t, s, "cd /etc").Result(); r.Dir != "/etc" || !r.DirChanged {
		t.Errorf("result %+v", r)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := (<-first).Result(); r.Dir != "/etc" || r.DirChanged || s.Dir() != "/etc" {
		t.Errorf("the first command, ended last: %+v", r)
	}
}

// What is asked about a command holds in the directory in which it starts,
// whatever other commands do meanwhile.
func TestPlainIsAskedForTheDirectoryOfTheStart(t *testing.T) {
	s := newTestHost(t, nil).NewShell(t.TempDir())
	task, err := s.Run(t.Context(), Request{Command: "echo $ASKED; pwd", Plain: func(dir string) (env, words []string) {
		run(t, s, "cd /usr")
		return []string{"ASKED=" + dir}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := text(task), s.home+"\n"+s.home+"\n"; got != want || s.Dir() != "/usr" {
		t.Errorf("output %q, want %q; directory %s", got, want, s.Dir())
	}
}
