//go:build linux

package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/workspace/atomic"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/internal/world/workspace/edits"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/internal/world/workspace/readstate"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// bench is a workspace over a temporary project.
type bench struct {
	*Workspace
	t       testing.TB
	dir     string
	changes []Change
}

func newBench(t testing.TB, files map[string]string) *bench {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	b := &bench{t: t, dir: filepath.Join(base, "p")}
	must(t, os.Mkdir(b.dir, 0o755))
	for name, content := range files {
		must(t, os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
		must(t, os.WriteFile(b.path(name), []byte(content), 0o644))
	}
	b.Workspace, err = Open(b.dir, &Options{Home: base, State: filepath.Join(base, "state"),
		OnChange: func(_ context.Context, c Change) error { b.changes = append(b.changes, c); return nil }})
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) write(name, content string) {
	must(b.t, os.WriteFile(b.path(name), []byte(content), 0o644))
}

func (b *bench) content(name string) string {
	b.t.Helper()
	raw, err := os.ReadFile(b.path(name))
	must(b.t, err)
	return string(raw)
}

// read shows a file to the main conversation.
func (b *bench) read(name string) {
	b.t.Helper()
	f, err := b.Load(b.Look(b.path(name)))
	must(b.t, err)
	b.Saw("", f.entry(readstate.Range{From: 1, To: 1 << 20}))
}

func (b *bench) edit(name, old, new string) (*Outcome, error) {
	return b.editChoosing(name, old, new, Refuse)
}

func (b *bench) editChoosing(name, old, new string, c Choice) (*Outcome, error) {
	return b.Revise(context.Background(), Revision{Path: b.Look(b.path(name)), OnConflict: c, Make: replacing(old, new)})
}

func replacing(old, new string) func(*textfile.Text) ([]byte, []string, error) {
	return func(t *textfile.Text) ([]byte, []string, error) {
		r, err := edits.Apply(t, []edits.Edit{{Old: old, New: new}})
		if err != nil {
			return nil, nil, err
		}
		return r.Raw, r.Notes, nil
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code Code) {
	t.Helper()
	var no *Refusal
	if !errors.As(err, &no) || no.Code != code {
		t.Fatalf("error %v, want code %d", err, code)
	}
}

const lines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"

func TestAFileMustBeReadBeforeItIsChanged(t *testing.T) {
	b := newBench(t, map[string]string{"f": lines})
	_, err := b.edit("f", "two", "2")
	wantCode(t, err, Unread)
	b.read("f")
	o, err := b.edit("f", "two", "2")
	must(t, err)
	if got, want := b.content("f"), strings.Replace(lines, "two", "2", 1); got != want {
		t.Errorf("content %q", got)
	}
	if len(o.Hunks) != 1 || o.Stale || o.Foreign != nil {
		t.Errorf("outcome %+v", o)
	}
	_, err = b.edit("f", "three", "3")
	must(t, err) // the edit counts as having seen the file
	_, err = b.Revise(context.Background(), Revision{Agent: "helper", Path: b.Look(b.path("f")), Make: replacing("four", "4")})
	wantCode(t, err, Unread) // what one agent read, another did not
}

func TestTouchAndRewritesOfTheSameBytesNeverBlock(t *testing.T) {
	b := newBench(t, map[string]string{"f": lines})
	b.read("f")
	must(t, os.Chtimes(b.path("f"), time.Now(), time.Now().Add(time.Hour)))
	o, err := b.edit("f", "two", "2")
	must(t, err)
	if o.Stale {
		t.Error("a touch counts as a change")
	}
	b.write("f", b.content("f"))
	_, err = b.edit("f", "three", "3")
	must(t, err)
}

func TestAForeignChangeElsewhereIsMergedAndShown(t *testing.T) {
	b := newBench(t, map[string]string{"f": lines})
	b.read("f")
	b.write("f", strings.Replace(lines, "eight", "EIGHT", 1))
	o, err := b.edit("f", "one", "1")
	must(t, err)
	if got, want := b.content("f"), "1\ntwo\nthree\nfour\nfive\nsix\nseven\nEIGHT\n"; got != want {
		t.Errorf("content %q", got)
	}
	if !o.Stale || len(o.Foreign) != 1 || !strings.Contains(strings.Join(o.Foreign[0].Lines, "\n"), "+EIGHT") {
		t.Errorf("the foreign change is not shown: %+v", o.Foreign)
	}
	if d := cmp.Diff([]string{"-one", "+1"}, changed(o)); d != "" {
		t.Errorf("the diff is from the file on disk\n%s", d)
	}
}

func changed(o *Outcome) []string {
	var out []string
	for _, h := range o.Hunks {
		for _, l := range h.Lines {
			if l[0] != ' ' {
				out = append(out, l)
			}
		}
	}
	return out
}

func TestAConflictIsRefusedAndCanBeDecided(t *testing.T) {
	foreign := strings.Replace(strings.Replace(lines, "two", "zwei", 1), "eight", "acht", 1)
	setUp := func() *bench {
		b := newBench(t, map[string]string{"f": lines})
		b.read("f")
		b.write("f", foreign)
		return b
	}
	b := setUp()
	_, err := b.edit("f", "two", "2")
	var conflict *conflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("error %v", err)
	}
	if b.content("f") != foreign {
		t.Error("a conflict changed the file")
	}
	golden.Check(t, "testdata/conflict.golden", strings.ReplaceAll(err.Error(), b.dir, "/project"))

	// What was reported may be overwritten, and nothing that came after it.
	facts := b.Look(b.path("f"))
	b.Told(Revision{Path: facts}, err)
	later := strings.Replace(foreign, "zwei", "deux", 1)
	b.write("f", later)
	_, err = b.editChoosing("f", "two", "2", Overwrite)
	if !errors.As(err, &conflict) || b.content("f") != later || !strings.Contains(err.Error(), "deux") {
		t.Errorf("a change that nobody has seen: %v", err)
	}
	b.Told(Revision{Path: facts}, err)
	b.Told(Revision{Path: facts}, errors.New("something else"))
	_, err = b.editChoosing("f", "two", "2", Overwrite)
	must(t, err)
	if got, want := b.content("f"), strings.Replace(later, "deux", "2", 1); got != want {
		t.Errorf("overwrite: %q, want %q", got, want)
	}
	b = setUp()
	_, err = b.editChoosing("f", "two", "2", Markers)
	must(t, err)
	if got := b.content("f"); !strings.Contains(got, "<<<<<<< edit\n2\n=======\nzwei\n>>>>>>> disk\n") || !strings.Contains(got, "acht") {
		t.Errorf("markers: %q", got)
	}
	b = setUp()
	b.read("f")
	_, err = b.edit("f", "zwei", "2")
	must(t, err)
}

// A command has changed the line that an edit is about. If the edit is found there as it was written, it is made; what is only found
// somewhere else by now was not what the agent saw.
func TestAnEditIsMadeBesideAForeignChangeOfItsLine(t *testing.T) {
	for _, c := range []struct{ name, was, now, old, new, want string }{
		{"both changes are kept", "f() { _ = old(1) }\n", "f() { _ = new(1) }\n", "f() { _", "f() { g(); _", "f() { g(); _ = new(1) }\n"},
		{"another place with the same text", "a = x + 1\nb = y\n", "a = z + 1\nb = x\n", "x", "2", ""},
		{"the text is there twice", "a = old(1)\n", "a = new(1) + a\n", "a", "b", ""},
		{"the same word was changed", "a = x + 1\n", "a = y + 1\n", "x + 1", "x + 2", ""},
	} {
		b := newBench(t, map[string]string{"f": c.was})
		b.read("f")
		b.write("f", c.now)
		o, err := b.edit("f", c.old, c.new)
		var conflict *conflictError
		switch {
		case c.want == "" && (!errors.As(err, &conflict) || b.content("f") != c.now):
			t.Errorf("%s: %v, content %q", c.name, err, b.content("f"))
		case c.want != "" && (err != nil || b.content("f") != c.want || !o.Stale || len(o.Foreign) == 0):
			t.Errorf("%s: %v, content %q", c.name, err, b.content("f"))
		}
	}
}

func TestMarkersInUTF16(t *testing.T) {
	enc, _ := textfile.ByName("UTF-16LE with BOM")
	wide := func(s string) string {
		raw, err := enc.Encode(s)
		must(t, err)
		return string(append(enc.BOM(), raw...))
	}
	b := newBench(t, map[string]string{"f": wide("a\r\nb\r\nc\r\n")})
	b.read("f")
	b.write("f", wide("a\r\nB\r\nc\r\n"))
	_, err := b.editChoosing("f", "b", "x", Markers)
	must(t, err)
	if want := wide("a\r\n<<<<<<< edit\r\nx\r\n=======\r\nB\r\n>>>>>>> disk\r\nc\r\n"); b.content("f") != want {
		t.Errorf("content %q", b.content("f"))
	}
}

func TestMarkersComeAfterAByteOrderMark(t *testing.T) {
	b := newBench(t, map[string]string{"f": "\ufeffa\nb\n"})
	b.read("f")
	b.write("f", "\ufeffA\nb\n")
	_, err := b.editChoosing("f", "a", "x", Markers)
	must(t, err)
	if want := "\ufeff<<<<<<< edit\nx\n=======\nA\n>>>>>>> disk\nb\n"; b.content("f") != want {
		t.Errorf("content %q", b.content("f"))
	}
}

func TestAFileThatChangedItsEncodingIsEditedAsItIs(t *testing.T) {
	enc, _ := textfile.ByName("UTF-16LE with BOM")
	wide := func(s string) string {
		raw, err := enc.Encode(s)
		must(t, err)
		return string(append(enc.BOM(), raw...))
	}
	b := newBench(t, map[string]string{"f": "a\nb\nc\n"})
	b.read("f")
	b.write("f", wide("a\nb\nc\n"))
	o, err := b.editChoosing("f", "b", "x", Markers)
	must(t, err)
	if !o.Stale || b.content("f") != wide("a\nx\nc\n") {
		t.Errorf("stale %v, content %q", o.Stale, b.content("f"))
	}
}

func TestAMergeThatMakesNoSenseIsRefused(t *testing.T) {
	for _, c := range []Choice{Refuse, Overwrite} {
		b := newBench(t, map[string]string{"f": lines})
		b.read("f")
		b.write("f", strings.Replace(lines, "eight", "EIGHT", 1))
		_, err := b.Revise(context.Background(), Revision{Path: b.Look(b.path("f")), Make: replacing("one", "1"), OnConflict: c,
			Check: func(t *textfile.Text) error {
				if bytes.Contains(t.Bytes(), []byte("EIGHT")) {
					return errors.New("nonsense")
				}
				return nil
			}})
		wantCode(t, err, Stale)
	}
}

func TestAnEditOfTheNewContentFits(t *testing.T) {
	b := newBench(t, map[string]string{"f": lines})
	b.read("f")
	b.write("f", strings.Replace(lines, "two", "zwei", 1))
	o, err := b.edit("f", "zwei", "2")
	must(t, err)
	if !o.Stale || len(o.Foreign) == 0 {
		t.Errorf("outcome %+v", o)
	}
}

func TestWithoutTheBaseAnEditThatFitsIsMade(t *testing.T) {
	b := newBench(t, map[string]string{"f": lines})
	b.read("f")
	e, _ := b.Seen("").Get(b.path("f"))
	e.Base, e.Hash = nil, blob.Digest([]byte("what was read before a restart"))
	b.Seen("").Put(e)
	o, err := b.edit("f", "two", "2")
	must(t, err)
	if !o.Stale || o.Foreign != nil {
		t.Errorf("outcome %+v", o)
	}
	b.Seen("").Put(e)
	_, err = b.edit("f", "nowhere", "x")
	if err == nil || !strings.Contains(err.Error(), "Read it again.") {
		t.Errorf("error %v", err)
	}
	b.Seen("").Put(e)
	_, err = b.Revise(context.Background(), Revision{Path: b.Look(b.path("f")), Whole: true, Make: func(*textfile.Text) ([]byte, []string, error) { return []byte("all"), nil, nil }})
	wantCode(t, err, Stale)
}

func TestWhatIsReplacedIsKept(t *testing.T) {
	b := newBench(t, map[string]string{"f": lines})
	b.read("f")
	_, err := b.edit("f", "two", "2")
	must(t, err)
	_, err = b.Revise(context.Background(), Revision{Path: b.Look(b.path("new/file")), Create: true,
		Make: func(*textfile.Text) ([]byte, []string, error) { return []byte("x"), nil, nil }})
	must(t, err)
	want := []Change{
		{Path: b.path("f"), Before: blob.Digest([]byte(lines)), After: blob.Digest([]byte(b.content("f"))), Mode: 0o644},
		{Path: b.path("new/file"), After: blob.Digest([]byte("x"))},
	}
	if d := cmp.Diff(want, b.changes); d != "" {
		t.Error(d)
	}
	kept, err := b.blobs.Get(context.Background(), want[0].Before)
	if err != nil || string(kept) != lines {
		t.Errorf("kept %q, %v", kept, err)
	}
	b.onChange = func(context.Context, Change) error { return errors.New("not now") }
	if _, err := b.edit("f", "three", "3"); err == nil || strings.Contains(b.content("f"), "\n3\n") {
		t.Errorf("a change that was stopped happened: %v", err)
	}
}

func TestLinksAndModesStay(t *testing.T) {
	b := newBench(t, map[string]string{"real/f": lines})
	must(t, os.Chmod(b.path("real/f"), 0o755))
	must(t, os.Symlink("real/f", b.path("link")))
	must(t, os.Symlink("link", b.path("chain")))
	b.read("chain")
	_, err := b.edit("chain", "two", "2")
	must(t, err)
	for _, l := range []string{"link", "chain"} {
		if info, err := os.Lstat(b.path(l)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", l)
		}
	}
	info, err := os.Stat(b.path("real/f"))
	must(t, err)
	if info.Mode() != 0o755 || !strings.Contains(b.content("real/f"), "\n2\n") {
		t.Errorf("mode %v, content %q", info.Mode(), b.content("real/f"))
	}
	_, err = b.edit("real/f", "three", "3") // read under one name, edited under another
	must(t, err)
}

func TestAWriteBetweenReadingAndWritingIsNoticed(t *testing.T) {
	b := newBench(t, map[string]string{"f": lines})
	b.read("f")
	_, err := b.Revise(context.Background(), Revision{Path: b.Look(b.path("f")), Make: func(t *textfile.Text) ([]byte, []string, error) {
		b.write("f", "foreign, at the worst moment")
		return []byte("mine"), nil, nil
	}})
	wantCode(t, err, Stale)
	if b.content("f") != "foreign, at the worst moment" {
		t.Errorf("content %q", b.content("f"))
	}
}

func TestAgentsEditingOneFileLoseNothing(t *testing.T) {
	var content strings.Builder
	const agents = 24
	for i := range agents {
		fmt.Fprintf(&content, "line of %d\nkeep\nkeep\n", i)
	}
	b := newBench(t, map[string]string{"f": content.String()})
	b.onChange = nil
	var wg sync.WaitGroup
	for i := range agents {
		agent := fmt.Sprint(i)
		f, err := b.Load(b.Look(b.path("f")))
		must(t, err)
		b.Saw(agent, f.entry(Whole))
		wg.Go(func() {
			_, err := b.Revise(context.Background(), Revision{Agent: agent, Path: b.Look(b.path("f")),
				Make: replacing(fmt.Sprintf("line of %d\n", i), fmt.Sprintf("changed by %d\n", i))})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range agents {
		if !strings.Contains(b.content("f"), fmt.Sprintf("changed by %d\n", i)) {
			t.Errorf("the change of %d is lost", i)
		}
	}
	if len(b.turns.held) != 0 {
		t.Errorf("%d locks left", len(b.turns.held))
	}
}

func TestTheJournalAndTheOldContentsAreOutOfReach(t *testing.T) {
	b := newBench(t, nil)
	state := filepath.Join(filepath.Dir(b.dir), "state")
	for _, path := range []string{state + "/writes/0000000000000000.write", state + "/blobs/ab/cd"} {
		f := b.Look(path)
		if r, w := f.Sensitive.Read, f.Verdict(guard.Write).Decision; r != guard.Ask || w != guard.Deny {
			t.Errorf("%s: reading is %v and writing %v, want ask and deny", path, r, w)
		}
	}
}

// TestRefusals pins every text about paths that a model can read.
func TestRefusals(t *testing.T) {
	b := newBench(t, map[string]string{"config.json": "{}", "src/main.go": "package main", "bin": "\x7fELF\x02\x00", "file": "x"})
	script := `mkfifo pipe; ln -s gone/away dangling; ln -s b a; ln -s a b; mkdir dir`
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = b.dir
	must(t, cmd.Run())
	var out strings.Builder
	say := func(name string, err error) {
		if err == nil {
			t.Errorf("%s: no error", name)
			return
		}
		fmt.Fprintf(&out, "== %s\n%s\n\n", name, strings.ReplaceAll(err.Error(), b.dir, "/project"))
	}
	say("relative", b.CheckPath(b.Look("src/main.go"), "file_path"))
	say("malformed", b.CheckPath(b.Look("file:///etc/passwd"), "file_path"))
	for _, name := range []string{"config.yaml", "Config.JSON", "src/mian.go", "other/main.go", "nothing/like/it", "dir", "pipe", "dangling", "a", "file/below"} {
		_, err := b.Load(b.Look(b.path(name)))
		say(name, err)
	}
	_, err := b.Load(b.Look(b.dir + "/nothing/../file"))
	say("a parent of nothing", err)
	_, err = b.Load(b.Look("/dev/zero"))
	say("device", err)
	_, err = b.edit("file", "x", "y")
	say("unread", err)
	b.read("bin")
	_, err = b.edit("bin", "x", "y")
	say("binary", err)
	golden.Check(t, "testdata/refusals.golden", out.String())
}

func TestFullDiskNamesTheLargestDirectories(t *testing.T) {
	b := newBench(t, map[string]string{"big/data/a": strings.Repeat("x", 5000), "small/b": strings.Repeat("x", 300), "wide/1/a": strings.Repeat("x", 900), "wide/2/b": strings.Repeat("x", 900)})
	err := b.explain(&atomic.SpaceError{Path: b.path("f"), Need: 100, Free: 40}, b.path("f"))
	golden.Check(t, "testdata/full.golden", strings.ReplaceAll(err.Error(), b.dir, "/project"))
}

// fullBlobs has no room.
type fullBlobs struct{ noBlobs }

func (fullBlobs) Put(context.Context, string, []byte) error { return syscall.ENOSPC }

func TestAFullStoreIsNotAFullProject(t *testing.T) {
	b := newBench(t, map[string]string{"f": "one\n", "big/data": strings.Repeat("x", 5000)})
	b.blobs = fullBlobs{}
	b.read("f")
	_, err := b.edit("f", "one", "1")
	if err == nil || !strings.Contains(err.Error(), "the device of "+b.state) || strings.Contains(err.Error(), "under the project") {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsUnusualIsNoted(t *testing.T) {
	b := newBench(t, map[string]string{"f": "one\n"})
	must(t, os.Chmod(b.path("f"), 0o444))
	b.read("f")
	o, err := b.edit("f", "one", "1")
	must(t, err)
	if d := cmp.Diff([]string{"the file is marked read-only (-r--r--r--); it was changed anyway and keeps its mode."}, o.Notes); d != "" {
		t.Error(d)
	}
	must(t, os.Remove(b.path("f")))
	o, err = b.Preview(context.Background(), Revision{Path: b.Look(b.path("f")), Create: true, Whole: true,
		Make: func(*textfile.Text) ([]byte, []string, error) { return []byte("x"), nil, nil }})
	must(t, err)
	if d := cmp.Diff([]string{"the file was deleted after it was read; it has been created again."}, o.Notes); d != "" {
		t.Error(d)
	}
}

func TestTheDiffOfACRFileIsOfItsLines(t *testing.T) {
	b := newBench(t, map[string]string{"f": "one\rtwo\rthree\r"})
	b.read("f")
	o, err := b.edit("f", "two", "2")
	must(t, err)
	if d := cmp.Diff([]string{"-two", "+2"}, changed(o)); d != "" {
		t.Error(d)
	}
}

// TestFullDisk fills a small file system of its own.
func TestFullDisk(t *testing.T) {
	needtest.Need(t, needtest.Mounts)
	b := newBench(t, nil)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", b.dir).CombinedOutput(); err != nil {
		t.Fatalf("mount: %s", out)
	}
	t.Cleanup(func() { must(t, unix.Unmount(b.dir, unix.MNT_DETACH)) })
	b.write("f", lines)
	must(t, os.Mkdir(b.path("build"), 0o755))
	b.write("build/out", strings.Repeat("x", 300<<10))
	b.read("f")
	_, err := b.edit("f", "two", strings.Repeat("z", 400<<10))
	var full *fullError
	if !errors.As(err, &full) || full.Space.Need < 400<<10 || full.Space.Free >= full.Space.Need {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{fmt.Sprintf("%d more are needed", full.Space.Need-full.Space.Free), "The file is unchanged.", fmt.Sprintf("%d bytes  %s", 300<<10, b.path("build"))} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	if b.content("f") != lines {
		t.Error("the file changed")
	}
}

// TestEncodings edits each kind of file through the whole pipeline.
func TestEncodings(t *testing.T) {
	for _, name := range []string{"UTF-8", "UTF-8 with BOM", "UTF-16LE with BOM", "UTF-16BE with BOM", "ISO-8859-1", "windows-1252", "GB18030", "Shift_JIS", "EUC-KR"} {
		for _, ending := range []string{"\n", "\r\n", "\r"} {
			enc, _ := textfile.ByName(name)
			encode := func(s string) string {
				raw, err := enc.Encode(strings.ReplaceAll(s, "\n", ending))
				must(t, err)
				return string(append(enc.BOM(), raw...))
			}
			sample := "name = value\n" + map[string]string{
				"ISO-8859-1": "Voilà l'été, déjà prêt à côtoyer les élèves. Les dépêches précédentes étaient mêlées.\n", "windows-1252": "Voilà l’été, déjà prêt à côtoyer les élèves – enfin.\n",
				"GB18030": "这是一个用来测试编码检测的文件，里面有足够多的汉字。\n", "Shift_JIS": "これは文字コードの判定を確かめるためのファイルです。\n",
				"EUC-KR": "이 파일은 문자 인코딩 감지를 시험하기 위한 것입니다.\n"}[name] + "end\n"
			b := newBench(t, map[string]string{"f": encode(sample)})
			b.read("f")
			_, err := b.edit("f", "value\n", "other\nand more\n")
			must(t, err)
			if want := encode(strings.Replace(sample, "value\n", "other\nand more\n", 1)); b.content("f") != want {
				t.Errorf("%s with %q: %q, want %q", name, ending, b.content("f"), want)
			}
			if name == "ISO-8859-1" || name == "Shift_JIS" {
				before := b.content("f")
				if _, err := b.edit("f", "end", "€ 한"); err == nil || b.content("f") != before {
					t.Errorf("%s: text it cannot hold: %v", name, err)
				}
			}
		}
	}
}

// TestNothingLandsOutside swaps a directory for a link to one outside, and back, during many writes. HAFT_RACE_WRITES=5000 makes
// them thousands.
func TestNothingLandsOutside(t *testing.T) {
	b := newBench(t, map[string]string{"d/f": lines})
	b.onChange = nil
	outside := b.dir + ".outside"
	must(t, os.Mkdir(outside, 0o755))
	must(t, os.WriteFile(filepath.Join(outside, "f"), []byte(lines), 0o644))
	must(t, os.Symlink(outside, b.path("link")))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, b.path("d"), unix.AT_FDCWD, b.path("link"), unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				return
			}
		}
	})
	wrote, refused := 0, 0
	write := func(name, content string) {
		facts := b.Look(b.path(name))
		if facts.Verdict(guard.Write).Decision != guard.Allow {
			return // the guard sees the link: nobody would write
		}
		if f, err := b.Load(facts); err == nil {
			b.Saw("", f.entry(Whole))
		}
		_, err := b.Revise(context.Background(), Revision{Path: facts, Create: true, Whole: true, OnConflict: Overwrite,
			Make: func(*textfile.Text) ([]byte, []string, error) { return []byte(content), nil, nil }})
		if err == nil {
			wrote++
		} else {
			refused++
		}
	}
	attempts := intEnv(t, "HAFT_RACE_WRITES", 1000)
	deadline := time.Now().Add(time.Duration(attempts) * 5 * time.Millisecond)
	for i := 0; wrote+refused < attempts && time.Now().Before(deadline); i++ {
		write("d/f", fmt.Sprint(i))
		write(fmt.Sprintf("d/new%d", i), "new")
		write(fmt.Sprintf("d/sub%d/new", i), "new")
	}
	close(stop)
	wg.Wait()
	entries, err := os.ReadDir(outside)
	must(t, err)
	got, err := os.ReadFile(filepath.Join(outside, "f"))
	must(t, err)
	if len(entries) != 1 || !bytes.Equal(got, []byte(lines)) {
		t.Fatalf("outside there are %v, and f holds %.40q", entries, got)
	}
	t.Logf("%d written, %d refused", wrote, refused)
	if wrote < 20 || refused < 20 {
		t.Errorf("%d written, %d refused: the race did not happen", wrote, refused)
	}
}

// TestSwapsBetweenCheckAndUse runs the two race cases of the path corpus as races.
func TestSwapsBetweenCheckAndUse(t *testing.T) {
	cases := map[string]string{
		"the parent becomes a link":                "mv d d.real && ln -s $OUT d",
		"the file becomes a link":                  "ln -sf $OUT/f d/f",
		"the file becomes another file":            "echo other > d/g && mv d/g d/f",
		"the parent becomes another directory":     "mv d d.real && mkdir d && echo other > d/f",
		"the file becomes a directory":             "rm d/f && mkdir d/f",
		"the file becomes a FIFO":                  "rm d/f && mkfifo d/f",
		"the file becomes a hard link to outside ": "rm d/f && ln $OUT/f d/f",
	}
	for name, swap := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]string{"d/f": lines})
			outside := b.dir + ".outside"
			must(t, os.Mkdir(outside, 0o755))
			must(t, os.WriteFile(filepath.Join(outside, "f"), []byte(lines), 0o644))
			b.read("d/f")
			facts := b.Look(b.path("d/f"))
			_, err := b.Revise(context.Background(), Revision{Path: facts, Make: func(x *textfile.Text) ([]byte, []string, error) {
				cmd := exec.Command("sh", "-c", swap) // after the file was read, before it is written
				cmd.Dir, cmd.Env = b.dir, append(os.Environ(), "OUT="+outside)
				must(t, cmd.Run())
				return []byte("mine"), nil, nil
			}})
			if err == nil {
				t.Error("the write went ahead")
			}
			got, readErr := os.ReadFile(filepath.Join(outside, "f"))
			must(t, readErr)
			if string(got) != lines {
				t.Errorf("the file outside holds %q", got)
			}
		})
	}
}

// noBlobs keeps nothing.
type noBlobs struct{}

func (noBlobs) Put(context.Context, string, []byte) error { return nil }
func (noBlobs) Get(context.Context, string) ([]byte, error) {
	return nil, os.ErrNotExist
}

// A conflict in many places shows the first of them.
func TestAConflictInManyPlaces(t *testing.T) {
	var old, ours, theirs strings.Builder
	for i := range 8 {
		fmt.Fprintf(&old, "line %d\nkept\nkept too\n", i)
		fmt.Fprintf(&ours, "ours %d\nkept\nkept too\n", i)
		fmt.Fprintf(&theirs, "theirs %d\nkept\nkept too\n", i)
	}
	b := newBench(t, map[string]string{"f": old.String()})
	b.read("f")
	b.write("f", theirs.String())
	_, err := b.edit("f", old.String(), ours.String())
	if err == nil || strings.Count(err.Error(), "of the file as it was read:") != 5 || !strings.Contains(err.Error(), "… and 3 more\n") {
		t.Errorf("%v", err)
	}
}

// What an agent knows of a file is told when it changes, and not when it reads the same again.
func TestWhatAnAgentKnowsIsToldOnce(t *testing.T) {
	b := newBench(t, map[string]string{"f": "one\ntwo\n"})
	told := 0
	b.onRead = func(string, readstate.Entry) { told++ }
	for i, want := range []int{1, 1, 2} {
		if i == 2 {
			b.write("f", "one\nthree\n")
		}
		if b.read("f"); told != want {
			t.Errorf("after reading %d: told %d times, want %d", i, told, want)
		}
	}
}

// A program that prints lines of a file has shown them, if they are these lines.
func TestLinesThatAProgramPrints(t *testing.T) {
	b := newBench(t, map[string]string{"f": "one\ntwo\nthree\n", "empty": "", "binary": "\x00\x01"})
	for _, c := range []struct {
		name     string
		from, to int
		shown    string
		want     bool
	}{
		{"f", 1, 2, "one\ntwo", true},
		{"f", 2, 9, "a title\ntwo\nthree\n", true},
		{"f", -1, -1, "three", true},
		{"f", 1, 1, "two", false},
		{"f", 1, 2, "one two", false},
		{"f", 3, 2, "", false},
		{"f", 9, 9, "", false},
		{"f", -9, -9, "", false},
		{"empty", 1, 1, "", false},
		{"binary", 1, 1, "\x00\x01", false},
		{"missing", 1, 1, "", false},
	} {
		if got := b.SawLines("", b.Look(b.path(c.name)), c.from, c.to, c.shown); got != c.want {
			t.Errorf("lines %d to %d of %s in %q: %t, want %t", c.from, c.to, c.name, c.shown, got, c.want)
		}
	}
}
