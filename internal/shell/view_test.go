package shell

import (
	"os"
	"path/filepath"
	"testing"
)

// fakePath is OS with a PATH of its own.
type fakePath struct {
	OS
	programs map[string]string
}

func (f fakePath) LookPath(name string) (string, error) {
	if p, ok := f.programs[name]; ok {
		return p, nil
	}
	return "", os.ErrNotExist
}

func (f fakePath) SearchPath() string { return filepath.Dir(f.programs["cat"]) }

func TestAViewOfTheFileSystemOnlyTightens(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, home := filepath.Join(top, "proj"), filepath.Join(top, "home")
	for _, dir := range []string{"proj/src", "proj/bin", "home/.ssh", "usr/bin"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"proj/a.txt", "proj/bin/rg", "home/.ssh/id_rsa", "usr/bin/cat", "usr/bin/rg", "proj/bin/cat"} {
		if err := os.WriteFile(filepath.Join(top, file), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"proj/notes.txt": "../home/.ssh/id_rsa", "proj/out": top, "proj/in": "src", "usr/bin/linked": "../../proj/bin/cat"} {
		if err := os.Symlink(target, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	usr := filepath.Join(top, "usr/bin")
	view := fakePath{programs: map[string]string{"cat": usr + "/cat", "rg": project + "/bin/rg", "ls": usr + "/linked", "head": "bin/head"}}
	opts := &Options{Cwd: project, Home: home, Roots: []string{project}, FS: view}
	tests := []struct {
		command string
		want    bool
	}{
		{"cat a.txt", true},
		{"rg foo", false},                       // found below the project
		{"ls", false},                           // a link to a program in the project
		{"head a.txt", false},                   // found relative to the working directory
		{"tail a.txt", true},                    // not found: nothing runs
		{usr + "/cat a.txt", true},              // the one that PATH finds
		{project + "/bin/cat a.txt", false},     // another one
		{"./bin/cat a.txt", false},              //
		{"cat notes.txt", false},                // a link to a key
		{"cat < notes.txt", false},              //
		{"cat src/../notes.txt", false},         //
		{"cd in && cat a.txt", true},            //
		{"cd out && cat a.txt", false},          // leaves through a link
		{"cd out/proj && cat a.txt", true},      // and comes back
		{"cd src; cat ../notes.txt", false},     //
		{"cat " + home + "/.ssh/id_rsa", false}, //
	}
	for _, tt := range tests {
		if a := Analyze(tt.command, opts); a.ReadOnly != tt.want {
			t.Errorf("%s: read-only %v, want %v (%s)", tt.command, a.ReadOnly, tt.want, a.Reason)
		}
	}
}

func TestPathsSayWhereTheyStart(t *testing.T) {
	tests := []struct {
		command string
		reads   []Path
		writes  []Path
	}{
		{"cat a /b", []Path{{"a", false, "/home/u/proj", "", false, false}, {"/b", false, "/home/u/proj", "", false, false}}, nil},
		{"cd src && cat a", []Path{{"a", false, "/home/u/proj/src", "", false, false}}, nil},
		{"cd src; cat a", []Path{{"a", false, "/home/u/proj/src", "", false, false}, {"a", false, "/home/u/proj", "", false, false}}, nil},
		{"cd src || cat a", []Path{{"a", false, "/home/u/proj", "", false, false}}, nil},
		{"(cd src); cat a", []Path{{"a", false, "/home/u/proj", "", false, false}}, nil},
		{"cd $X; cat a", []Path{{"a", true, "", "", false, false}}, nil},
		{"cat *.go", []Path{{"*.go", true, "/home/u/proj", "", false, false}}, nil},
		{"ls > out", nil, []Path{{"out", false, "/home/u/proj", "", false, true}}},
		{"cp a b", []Path{{"a", false, "/home/u/proj", "", false, false}}, []Path{{"b", false, "/home/u/proj", "", false, false}}},
		{"env cp a b", []Path{{"a", false, "/home/u/proj", "", false, false}}, []Path{{"b", false, "/home/u/proj", "", false, false}}},
		{"sed -i s/a/b/ x", nil, []Path{{"x", false, "/home/u/proj", "", false, false}}},
		{"bash -c 'echo > x'", nil, []Path{{"x", false, "/home/u/proj", "", false, true}}},
		{"dd if=a of=b", []Path{{"a", false, "/home/u/proj", "", false, false}}, []Path{{"b", false, "/home/u/proj", "", false, false}}},
	}
	for _, tt := range tests {
		a := Analyze(tt.command, place)
		if !samePaths(a.Reads, tt.reads) || !samePaths(a.Writes, tt.writes) {
			t.Errorf("%s: reads %v and writes %v, want %v and %v", tt.command, a.Reads, a.Writes, tt.reads, tt.writes)
		}
	}
}

func samePaths(got, want []Path) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i] != want[i] {
			return false
		}
	}
	return true
}

func TestCriticalRemovals(t *testing.T) {
	for _, command := range []string{
		"rm -rf /", "rm -rf /*", "rm -rf ~", "rm -rf ~/", "rm -rf ~/*", "rm -r -f $HOME", "rm -rf .", "rm -rf ./*", "rm -rf *", "rm -rf ..", "rm -rf .git", "rm -rf /home/u/proj", "rm -rf /usr", "sudo rm -rf /",
		"rm -rf \"$DIR\"/*", "rm -rf $DIR/", "find . -delete", "find / -exec rm -rf {} +", "mkfs.ext4 /dev/sda1", "dd if=/dev/zero of=/dev/sda", "echo x > /dev/sda", ":(){ :|:& };:", "cd .. && rm -rf proj", "shutdown now",
		"bash -c 'rm -rf /'", "ls; rm -rf /", "/bin/rm -rf /", "rm --recursive --force /etc", "mv ~ /tmp/x", "chmod -R 777 /", "xargs rm -rf /", "cd / && rm -rf *",
	} {
		if a := Analyze(command, place); a.Critical == "" {
			t.Errorf("%s is not critical", command)
		}
	}
	for _, command := range []string{"rm -rf build", "rm a.txt", "rm -rf node_modules/*", "rm -rf ./dist", "find . -name '*.o' -delete", "dd if=a of=b", "rm -f /tmp/x", "echo rm -rf /", "ls /", "mv a b", "chmod -R u+w src", "rm *.o"} {
		if a := Analyze(command, place); a.Critical != "" {
			t.Errorf("%s is critical: %s", command, a.Critical)
		}
	}
}
