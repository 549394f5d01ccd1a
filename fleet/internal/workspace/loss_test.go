package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/world/workspace/blob"
)

// never says that no folder is needed, and that others know all that was stored.
func never(_ string, p *Point) (bool, *Point) { return false, p }

// Commits that could not be fetched once are fetched with the next call, and a folder that has the
// only copy of some is not removed.
func TestCommitsAreFetchedAgain(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "a\n"})
	blobs := blob.Dir(t.TempDir())
	var aside []*Aside
	w := open(t, Options{Dir: t.TempDir(), Spec: Spec{Repository: remote, Ref: "main"}, Blobs: blobs})
	write(t, w.Folder(), map[string]string{"mine": "1"})
	run(t, w.Folder(), "sh", "-c", "git checkout -q -b topic && git add mine && git commit -q -m mine")
	want := run(t, w.Folder(), "git", "rev-parse", "HEAD")
	objects := filepath.Join(w.Folder(), ".git", "objects")
	if err := os.Rename(objects, objects+"x"); err != nil {
		t.Fatal(err)
	}
	first := store(t, w, "c1")
	if !slices.ContainsFunc(first.Left, func(s string) bool { return strings.HasPrefix(s, ".git: commits cannot be stored") }) {
		t.Errorf("left out %q", first.Left)
	}
	if again := store(t, w, "c1"); again.Commit != first.Commit {
		t.Error("a call that changed nothing made a commit")
	}
	w.Close()
	if unchanged, _, err := w.compare(t.Context(), &noted{Point: first, Refs: w.refs}); unchanged || err != nil {
		t.Errorf("a folder whose commits are not stored is taken for stored: %v", err)
	}
	o := Options{Dir: w.Dir, Spec: w.Spec, Blobs: blobs, Last: first, Aside: func(a *Aside) { aside = append(aside, a) }}
	if err := os.Rename(objects+"x", objects); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(t.Context(), &SweepOptions{Dir: w.Dir, Needed: never, Aside: o.Aside}); err != nil || len(aside) != 1 {
		t.Fatalf("moved aside %v, %v", aside, err)
	}
	if got := run(t, aside[0].Path, "git", "rev-parse", "topic"); got != want {
		t.Errorf("topic is %s", got)
	}
	// While it is used, the next call stores them.
	w = open(t, o)
	run(t, w.Folder(), "git", "fetch", "-q", aside[0].Path, "topic:again")
	objects = filepath.Join(w.Folder(), ".git", "objects")
	if err := os.Rename(objects, objects+"x"); err != nil {
		t.Fatal(err)
	}
	store(t, w, "c2")
	if err := os.Rename(objects+"x", objects); err != nil {
		t.Fatal(err)
	}
	last := store(t, w, "c3")
	other := open(t, Options{Dir: t.TempDir(), Spec: w.Spec, Blobs: blobs, Last: last})
	if got := run(t, other.Folder(), "git", "rev-parse", "again"); got != want || len(last.Left) != 0 {
		t.Errorf("restored again as %s, left out %q; want %s", got, last.Left, want)
	}
}

// What git cannot say about the branches is an error: no branches would be stored.
func TestBranchesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "a\n"})
	w := open(t, Options{Dir: t.TempDir(), Spec: Spec{Repository: remote, Ref: "main"}, Blobs: blob.Dir(t.TempDir())})
	write(t, w.Folder(), map[string]string{"a": "b"})
	w.branches = branches{}
	if err := os.WriteFile(filepath.Join(w.objects.dir, "HEAD"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := w.Store(t.Context(), "c1"); err == nil || !strings.Contains(err.Error(), "read the branches") {
		t.Errorf("stored %+v, %v", p, err)
	}
}

// What was stored and did not get into the journal is moved aside; what the journal has made
// further is removed, even if its packs were made into one.
func TestStoredButNotInTheJournal(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "a\n"})
	blobs := blob.Dir(t.TempDir())
	var aside []*Aside
	o := Options{Dir: t.TempDir(), Spec: Spec{Repository: remote, Ref: "main"}, Blobs: blobs, Aside: func(a *Aside) { aside = append(aside, a) }}
	w := open(t, o)
	write(t, w.Folder(), map[string]string{"one": "1"})
	o.Last = store(t, w, "c1")
	write(t, w.Folder(), map[string]string{"two": "2"})
	store(t, w, "c2")
	w.Close()
	w = open(t, o)
	if got := files(t, w.Folder()); got["one"] != "false 1" || got["two"] != "" || len(aside) != 1 {
		t.Fatalf("restored %q, moved aside %v", got, aside)
	}
	if got := files(t, aside[0].Path); got["two"] != "false 2" {
		t.Errorf("aside has %q", got)
	}
	w.Close()
	other := open(t, Options{Dir: t.TempDir(), Spec: o.Spec, Blobs: blobs, Last: o.Last})
	for n := range maxPacks + 1 {
		write(t, other.Folder(), map[string]string{"one": strings.Repeat("x", n+1)})
		o.Last = store(t, other, "more")
	}
	if len(o.Last.Packs) >= maxPacks {
		t.Fatalf("%d packs", len(o.Last.Packs))
	}
	if w = open(t, o); len(aside) != 1 || files(t, w.Folder())["one"] != "false "+strings.Repeat("x", maxPacks+1) {
		t.Errorf("moved aside %v", aside)
	}
	w.Close()
	// Nothing of the run is in the journal.
	o.Last, o.Base, o.Branch = nil, o.Last.Base, o.Last.Branch
	if open(t, o); len(aside) != 2 {
		t.Errorf("moved aside %v", aside)
	}
}

// A folder whose note cannot be read may have anything in it.
func TestANoteThatCannotBeRead(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "a\n"})
	var aside []*Aside
	o := Options{Dir: t.TempDir(), Spec: Spec{Repository: remote, Ref: "main"}, Blobs: blob.Dir(t.TempDir()), Aside: func(a *Aside) { aside = append(aside, a) }}
	w := open(t, o)
	write(t, w.Folder(), map[string]string{"mine": "1"})
	if err := os.WriteFile(filepath.Join(w.root, notedName), []byte("{garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := Sweep(t.Context(), &SweepOptions{Dir: o.Dir, Needed: never, Aside: o.Aside}); err == nil || !strings.Contains(err.Error(), "stored.json: ") {
		t.Errorf("swept: %v", err)
	}
	if got := files(t, w.Folder()); got["mine"] != "false 1" {
		t.Fatalf("the folder has %q", got)
	}
	if open(t, o); len(aside) != 1 || files(t, aside[0].Path)["mine"] != "false 1" {
		t.Errorf("moved aside %v", aside)
	}
}

// A file that cannot be looked at is not taken for deleted.
func TestAFileThatCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "a\n"})
	w := open(t, Options{Dir: t.TempDir(), Spec: Spec{Repository: remote, Ref: "main"}, Blobs: blob.Dir(t.TempDir())})
	name := strings.Repeat("x", 300) + "/f" // no system looks at that
	w.tree[name] = w.tree["a"]
	left, err := w.scan(t.Context(), func(c *change) error { t.Errorf("%q has changed", c.path); return nil })
	if err != nil || len(left) != 1 || left[0].path != name || left[0].why != "it cannot be read" {
		t.Errorf("left out %+v, %v", left, err)
	}
}

// What a server says is shown without its control characters.
func TestWhatGitSaysIsShown(t *testing.T) {
	var said tail
	_, _ = said.Write([]byte("remote: \x1b[2Jhello\u202e\nfatal: no\n"))
	if got := said.text(); got != `\u{1b}[2Jhello\u{202e}; no` {
		t.Errorf("shown as %q", got)
	}
}

// What a run has committed is pushed, whatever its name and size, and what it has changed since and is
// never stored stays as it was committed.
func TestCommittedFilesArePushed(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "a\n"})
	blobs := blob.Dir(t.TempDir())
	w := open(t, Options{Dir: t.TempDir(), Spec: Spec{Repository: remote, Ref: "main"}, Blobs: blobs, maxFile: 1 << 20})
	write(t, w.Folder(), map[string]string{"testdata/server.pem": "x", ".env": "A=1", "later.env": "A=1", "ok": "1"})
	run(t, w.Folder(), "sh", "-c", "truncate -s 2M big && git add -A -f && git commit -q -m mine")
	write(t, w.Folder(), map[string]string{"later.env": "A=topsecret", "ok": "2"})
	p := store(t, w, "c1")
	if !slices.Equal(p.Left, []string{"later.env: its name is that of a secret"}) {
		t.Errorf("left out %q", p.Left)
	}
	if _, err := push(t, w, "result", ""); err != nil {
		t.Fatal(err)
	}
	if got := run(t, remote, "git", "diff", "--name-status", "result~", "result"); got != "M\tok" {
		t.Errorf("the last commit has\n%s", got)
	}
	if got := run(t, remote, "git", "diff", "--name-only", "main", "result"); got != ".env\nbig\nlater.env\nok\ntestdata/server.pem" {
		t.Errorf("pushed\n%s", got)
	}
	if got := run(t, remote, "git", "show", "result:later.env"); got != "A=1" {
		t.Errorf("later.env is %q", got)
	}
	other := open(t, Options{Dir: t.TempDir(), Spec: w.Spec, Blobs: blobs, Last: p})
	if got := files(t, other.Folder()); got[".env"] != "false A=1" || len(got["big"]) != 2<<20+len("false ") {
		t.Errorf(".env is %q, big has %d bytes", got[".env"], len(got["big"]))
	}
}

// Whatever is stored can be restored; what could not be is listed instead.
func TestWhatIsStoredCanBeRestored(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("b", 200) + "/" + strings.Repeat("c", 100)
	for name, c := range map[string]struct {
		do, left string
	}{
		"a link .gitmodules":    {"ln -s a .gitmodules", ""},
		"a long attribute":      {"printf '%03000d text\n' 1 > .gitattributes", ""},
		"a short name":          {"echo 1 > 'git~1'", "git~1: its name"},
		"another .git":          {"mkdir -p x/.Git && echo 1 > x/.Git/f", "x/.Git/f: its name"},
		"a long branch":         {"git branch " + long, ".git: the branch \"bb"},
		"a branch in latin-1":   {"git branch $(printf 'caf\\351')", ".git: the branch \"caf"},
		"an address without >":  {"h=$(printf 'tree '$(git rev-parse HEAD^{tree})'\\nparent '$(git rev-parse HEAD)'\\nauthor a <a@b> 1 +0000\\ncommitter a <a@b 1 +0000\\n\\nold\\n' | git hash-object -t commit -w --stdin --literally); git update-ref refs/heads/old $h", ""},
		"a mode with a zero":    {"b=$(git hash-object -w a); tr=$(printf \"0100644 a\\0$(echo $b | sed 's/../\\\\x&/g')\" | git hash-object -t tree -w --stdin --literally); h=$(echo old | git commit-tree -p HEAD $tr); git update-ref refs/heads/old $h", ""},
		"a branch of no commit": {"git rev-parse HEAD^{tree} > .git/refs/heads/x", ".git: the branch \"x\" does not point to a commit"},
		"a detached HEAD":       {"git checkout -q --detach && git commit -q --allow-empty -m detached", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := newRemote(t, map[string]string{"a": "a\n"})
			blobs := blob.Dir(t.TempDir())
			w := open(t, Options{Dir: t.TempDir(), Spec: Spec{Repository: remote, Ref: "main"}, Blobs: blobs})
			write(t, w.Folder(), map[string]string{"mine": "1"})
			run(t, w.Folder(), "bash", "-c", c.do)
			p := store(t, w, "c1")
			if left := strings.Join(p.Left, "\n"); (left == "") != (c.left == "") || !strings.HasPrefix(left, c.left) {
				t.Errorf("left out %q", p.Left)
			}
			other := open(t, Options{Dir: t.TempDir(), Spec: w.Spec, Blobs: blobs, Last: p})
			if got := files(t, other.Folder()); got["mine"] != "false 1" {
				t.Errorf("restored %q", got)
			}
			if c.left == "" {
				if got, want := run(t, other.Folder(), "git", "for-each-ref", "refs/heads"), run(t, w.Folder(), "git", "for-each-ref", "refs/heads"); got != want {
					t.Errorf("branches\n%s\nwant\n%s", got, want)
				}
				if got, want := run(t, other.Folder(), "git", "rev-parse", "HEAD"), run(t, w.Folder(), "git", "rev-parse", "HEAD"); got != want {
					t.Errorf("HEAD is %s, want %s", got, want)
				}
			}
		})
	}
}

// A folder with files that are never stored is found again by the next prompt on the machine.
func TestAFolderWithLeftOutFilesIsFoundAgain(t *testing.T) {
	t.Parallel()
	remote := newRemote(t, map[string]string{"a": "a\n"})
	var aside []*Aside
	o := Options{Dir: t.TempDir(), Spec: Spec{Repository: remote, Ref: "main"}, Blobs: blob.Dir(t.TempDir()), Aside: func(a *Aside) { aside = append(aside, a) }}
	w := open(t, o)
	write(t, w.Folder(), map[string]string{"mine": "1"})
	store(t, w, "c1")
	run(t, w.Folder(), "git", "init", "-q", "nested")
	write(t, w.Folder(), map[string]string{"nested/f": "1", ".env": "A=1"})
	o.Last = store(t, w, "c2")
	w.Close()
	w = open(t, o)
	if got := files(t, w.Folder()); got["nested/f"] != "false 1" || got[".env"] != "false A=1" || len(aside) != 0 {
		t.Errorf("found %q, moved aside %v", got, aside)
	}
	// One more that nobody knows of means that a call was cut off.
	write(t, w.Folder(), map[string]string{".env.local": "A=1"})
	w.Close()
	if open(t, o); len(aside) != 1 {
		t.Errorf("moved aside %v", aside)
	}
}
