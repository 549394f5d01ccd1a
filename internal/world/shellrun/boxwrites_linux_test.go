package shellrun

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/sandbox"
)

// What a command tries to change and cannot is seen at the system call, whatever it prints: with
// the path that the attempt was about, and only if a plain shell could have changed it.
func TestAttemptsToWriteAreSeen(t *testing.T) {
	needtest.Need(t, needtest.Namespaces, "perl")
	asBoth(t, func(t *testing.T) {
		project, out := t.TempDir(), t.TempDir()
		writeFiles(t, project, map[string]string{"file": "text\n", "kept/f": "text\n", "sub/kept": "text\n"})
		writeFiles(t, out, map[string]string{"file": "text\n", "dir/f": "text\n", "cache/f": "text\n"})
		if err := os.Symlink(filepath.Join(out, "file"), filepath.Join(project, "link")); err != nil {
			t.Fatal(err)
		}
		in := func(name string) string { return filepath.Join(project, name) }
		box := &sandbox.Spec{Write: []string{project}, Read: []string{out}, Protect: []string{in("kept"), in("sub/kept")}, Caches: []string{"cac*"}}
		s := newTestHost(t, func(o *Options) { o.Environ = append(os.Environ(), "OUT="+out); o.EnvNames = []string{"OUT"} }).NewShell(project)
		beside := func(name string) []string { return []string{filepath.Join(out, name)} }
		for _, c := range []struct {
			command string
			want    []string
		}{
			{`: >$OUT/new`, beside("new")},
			{`: >>$OUT/file`, beside("file")},
			{`cd $OUT && : >dir/f; cd - >/dev/null`, beside("dir/f")},
			{`: >link`, beside("file")},
			{`perl -e 'open F, ">", "$ENV{OUT}/file"'`, beside("file")},
			{`rm -f $OUT/file`, beside("file")},
			{`rm -rf $OUT/dir`, beside("dir/f")},
			{`mkdir -p $OUT/dir/a/b`, beside("dir/a")},
			{`mv file $OUT/`, beside("file")},
			{`ln -s x $OUT/l`, beside("l")},
			{`ln file $OUT/h`, beside("h")},
			{`chmod 600 $OUT/file`, beside("file")},
			{`truncate -s 0 $OUT/file`, beside("file")},
			{`: >kept/f`, []string{in("kept/f")}},
			{`rm -rf kept`, []string{in("kept/f")}},
			{`mv sub other`, []string{in("sub")}},
			{`perl -e 'open F, "+<", "$ENV{OUT}/file"'`, beside("file")}, // perhaps only to be read

			{`echo 1 >>file; mkdir -p d/e; mv d d2; rm -rf d2; ln -s file l; chmod 640 file; rm l`, nil},
			{`rmdir sub; rmdir $OUT/none; chmod 755 sub`, nil}, // the folder is not empty
			{`: >/dev/null; : >/tmp/x; rm /tmp/x; echo >/dev/stderr`, nil},
			{`cat $OUT/file >/dev/null; ls $OUT >/dev/null; cp $OUT/file copy; rm copy`, nil},
			{`: >$OUT/none/new; rm -f $OUT/none; mkdir $OUT/dir; rm -rf /nowhere`, nil}, // fails everywhere
			{`: >$OUT/cache/new; mkdir $OUT/cache/d`, nil},
		} {
			task := runBoxed(t, s, box, "("+c.command+") 2>/dev/null; cd "+quote(project))
			var got []string
			for _, a := range task.Result().Status.Unwritten {
				if got = append(got, a.Path); a.Maybe != strings.Contains(c.command, "+<") {
					t.Errorf("%s: maybe %v", c.command, a.Maybe)
				}
			}
			if len(c.want) > 0 && (len(got) == 0 || got[0] != c.want[0]) || len(c.want) == 0 && len(got) > 0 {
				t.Errorf("%s: %q, want %q", c.command, got, c.want)
			}
		}
		if got := tree(t, out); !slices.Equal([]string{got["file"], got["dir/f"], got["cache/f"]}, []string{"text\n", "text\n", "text\n"}) || len(got) != 5 {
			t.Errorf("beside the project is %v", got)
		}
	})
}

// Settings of git are protected by what they would do: git may note what a branch tracks, and
// nothing that runs a program, whichever program writes it.
func TestHarmlessSettingsOfGitAreReplaced(t *testing.T) {
	needtest.Need(t, needtest.Namespaces, "git")
	asBoth(t, func(t *testing.T) {
		project := t.TempDir()
		config := filepath.Join(project, ".git", "config")
		s := newTestHost(t, nil).NewShell(project)
		git := "git -c init.defaultBranch=main -c user.name=n -c user.email=e@example.com "
		if task := runBoxed(t, s, nil, git+"init -q . && "+git+"commit -q --allow-empty -m m && git branch old && git branch gone"); task.Result().Status.Code != 0 {
			t.Fatal(text(task))
		}
		before, err := os.Stat(config)
		if err != nil {
			t.Fatal(err)
		}
		box := &sandbox.Spec{Write: []string{project}, Protect: []string{config}, Settings: []string{config}}
		for _, c := range []struct{ command, adds, keeps string }{
			{command: "git remote add up ../up", adds: "../up"},
			{command: "git branch -q --set-upstream-to=old main", adds: "refs/heads/old"},
			{command: "git branch -m old new && git branch -d gone"},
			{command: "git config user.nickname x", adds: "nickname"},
			{command: "git config core.fsmonitor date", keeps: "fsmonitor"},
			{command: "git config alias.x '!date'", keeps: "alias"},
			{command: "git config remote.up.url ../evil", keeps: "evil"},
			{command: "git config user.name y; echo '[alias] x = !date' >> .git/config", adds: "name = y", keeps: "alias"},
			{command: "git config user.email z; cp .git/config .git/config.lock; echo '[alias] x = !date' >> .git/config.lock; mv .git/config.lock .git/config", adds: "email = z", keeps: "alias"},
			{command: "cp .git/config /tmp/c; echo '[user] name = w' >> /tmp/c; mv -f /tmp/c .git/config", keeps: "name = w"},
		} {
			task := runBoxed(t, s, box, "("+c.command+")")
			raw, err := os.ReadFile(config)
			if err != nil || !strings.Contains(string(raw), c.adds) || c.keeps != "" && strings.Contains(string(raw), c.keeps) {
				t.Errorf("%s: %v, the settings are\n%s\n%s", c.command, err, raw, text(task))
			}
			if refused := len(task.Result().Status.Unwritten) > 0; refused != (c.keeps != "") {
				t.Errorf("%s: that it was refused is %v", c.command, refused)
			}
		}
		if after, err := os.Stat(config); err != nil || !os.SameFile(before, after) {
			t.Errorf("the settings are another file now, on which nothing is mounted: %v", err)
		}
	})
}
