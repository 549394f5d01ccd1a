//go:build linux

package atomic

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/workspace/disk"
)

// bench is a directory with a file in it and a journal beside it.
type place struct{ dir, file, journal string }

func newPlace(t testing.TB, content string) place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return placeIn(t, base, content)
}

func placeIn(t testing.TB, base, content string) place {
	t.Helper()
	p := place{filepath.Join(base, "d"), filepath.Join(base, "d", "f"), filepath.Join(base, "journal")}
	must(t, os.Mkdir(p.dir, 0o755))
	must(t, os.WriteFile(p.file, []byte(content), 0o644))
	return p
}

func (p place) writer(t testing.TB, fsys disk.FS) *Writer {
	t.Helper()
	w := New(p.journal, fsys)
	t.Cleanup(func() { w.Close() })
	return w
}

func (p place) info(t testing.TB) *disk.Info {
	t.Helper()
	info, err := disk.OS().Lstat(p.file)
	must(t, err)
	return &info
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	must(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// checkClean fails if a write left anything behind.
func (p place) checkClean(t testing.TB, want ...string) {
	t.Helper()
	if got := strings.Join(names(t, p.dir), " "); got != strings.Join(want, " ") {
		t.Errorf("files %q, want %q", got, want)
	}
	if left := names(t, p.journal); len(left) > 0 {
		t.Errorf("journal holds %v", left)
	}
}

func TestWriteReplacesTheContent(t *testing.T) {
	p := newPlace(t, "old")
	before := p.info(t)
	info, err := p.writer(t, nil).Write(context.Background(), File{Path: p.file, Data: []byte("new"), Old: before})
	must(t, err)
	if got := content(t, p.file); got != "new" {
		t.Errorf("content %q", got)
	}
	if now := p.info(t); !now.Same(info) {
		t.Errorf("description %+v, want %+v", info, *now)
	}
	p.checkClean(t, "f")
}

func TestWriteCreatesFilesAndTheirDirectories(t *testing.T) {
	p := newPlace(t, "")
	path := filepath.Join(p.dir, "a", "b", "new")
	_, err := p.writer(t, nil).Write(context.Background(), File{Path: path, Data: []byte("x")})
	must(t, err)
	info, err := os.Stat(path)
	must(t, err)
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	if want := fs.FileMode(0o666 &^ mask); info.Mode() != want {
		t.Errorf("mode %v, want %v", info.Mode(), want)
	}
}

func TestWriteKeepsModeOwnerAndAttributes(t *testing.T) {
	p := newPlace(t, "old")
	must(t, os.Chmod(p.file, 0o751))
	if os.Getuid() == 0 {
		must(t, os.Chown(p.file, 1234, 2345))
		must(t, os.Chmod(p.file, 0o751|fs.ModeSetuid))
	}
	attr := unix.Setxattr(p.file, "user.haft", []byte("kept"), 0) == nil
	before := p.info(t)
	_, err := p.writer(t, nil).Write(context.Background(), File{Path: p.file, Data: []byte("new"), Old: before})
	must(t, err)
	now := p.info(t)
	if now.Mode != before.Mode || now.UID != before.UID || now.GID != before.GID {
		t.Errorf("mode %v owner %d:%d, want %v %d:%d", now.Mode, now.UID, now.GID, before.Mode, before.UID, before.GID)
	}
	if attr {
		b := make([]byte, 16)
		n, err := unix.Getxattr(p.file, "user.haft", b)
		if err != nil || string(b[:n]) != "kept" {
			t.Errorf("attribute %q, %v", b[:max(n, 0)], err)
		}
	}
}

func TestAnInheritedAccessListDoesNotLetMorePeopleIn(t *testing.T) {
	p := newPlace(t, "old")
	acl := []byte{2, 0, 0, 0} // the version, then tag, permissions and id of: owner, user 1234, group, mask, others
	for _, e := range [][3]uint32{{1, 7, 1<<32 - 1}, {2, 7, 1234}, {4, 5, 1<<32 - 1}, {16, 7, 1<<32 - 1}, {32, 0, 1<<32 - 1}} {
		acl = binary.LittleEndian.AppendUint16(acl, uint16(e[0]))
		acl = binary.LittleEndian.AppendUint16(acl, uint16(e[1]))
		acl = binary.LittleEndian.AppendUint32(acl, e[2])
	}
	if err := unix.Setxattr(p.dir, "system.posix_acl_default", acl, 0); err != nil {
		t.Skip("the file system has no access lists: ", err)
	}
	_, err := p.writer(t, nil).Write(context.Background(), File{Path: p.file, Data: []byte("new"), Old: p.info(t)})
	must(t, err)
	if n, err := unix.Getxattr(p.file, "system.posix_acl_access", nil); err == nil {
		t.Errorf("the new file has an access list of %d bytes, the old one had none", n)
	}
}

func TestHardLinksStayOneFile(t *testing.T) {
	for _, data := range []string{"new and longer than before", "s", ""} {
		p := newPlace(t, "old content")
		must(t, os.Link(p.file, p.dir+"/other"))
		_, err := p.writer(t, nil).Write(context.Background(), File{Path: p.file, Data: []byte(data), Old: p.info(t)})
		must(t, err)
		for _, name := range []string{"f", "other"} {
			if got := content(t, filepath.Join(p.dir, name)); got != data {
				t.Errorf("%s holds %q, want %q", name, got, data)
			}
		}
		p.checkClean(t, "f", "other")
	}
}

func TestAChangedFileIsNotOverwritten(t *testing.T) {
	change := map[string]func(p place){
		"other content": func(p place) { must(t, os.WriteFile(p.file, []byte("foreign"), 0o644)) },
		"another file": func(p place) {
			must(t, os.Rename(p.file, p.file+"2"))
			must(t, os.WriteFile(p.file, []byte("foreign"), 0o644))
		},
		"a link":      func(p place) { must(t, os.Remove(p.file)); must(t, os.Symlink("elsewhere", p.file)) },
		"a directory": func(p place) { must(t, os.Remove(p.file)); must(t, os.Mkdir(p.file, 0o755)) },
		"nothing":     func(p place) { must(t, os.Remove(p.file)) },
	}
	for name, f := range change {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, "old")
			old := p.info(t)
			f(p)
			before := fmt.Sprint(names(t, p.dir))
			_, err := p.writer(t, nil).Write(context.Background(), File{Path: p.file, Data: []byte("new"), Old: old})
			if !errors.Is(err, ErrChanged) {
				t.Fatalf("error %v, want ErrChanged", err)
			}
			if after := fmt.Sprint(names(t, p.dir)); after != before {
				t.Errorf("files %v, want %v", after, before)
			}
		})
	}
	t.Run("a new file that exists by now", func(t *testing.T) {
		p := newPlace(t, "foreign")
		_, err := p.writer(t, nil).Write(context.Background(), File{Path: p.file, Data: []byte("new")})
		if !errors.Is(err, ErrChanged) || content(t, p.file) != "foreign" {
			t.Errorf("error %v, content %q", err, content(t, p.file))
		}
	})
}

func TestAFileWrittenToWhileTheJournalIsFilledIsLeftAlone(t *testing.T) {
	p := newPlace(t, "old")
	must(t, os.Link(p.file, p.dir+"/g"))
	fsys := &faultFS{FS: disk.OS(), before: func(_ int, op string) error {
		if op == "fallocate" {
			must(t, os.WriteFile(p.file, []byte("foreign"), 0o644))
		}
		return nil
	}}
	_, err := p.writer(t, fsys).Write(context.Background(), File{Path: p.file, Data: []byte("new"), Old: p.info(t)})
	if !errors.Is(err, ErrChanged) || content(t, p.file) != "foreign" {
		t.Errorf("error %v, content %q", err, content(t, p.file))
	}
	p.checkClean(t, "f", "g")
}

func TestADirectorySwappedForALinkIsNotFollowed(t *testing.T) {
	p := newPlace(t, "old")
	old := p.info(t)
	outside := p.dir + ".out"
	must(t, os.Rename(p.dir, outside))
	must(t, os.Symlink(outside, p.dir))
	_, err := p.writer(t, nil).Write(context.Background(), File{Path: p.file, Data: []byte("new"), Old: old})
	if !errors.Is(err, disk.ErrLink) {
		t.Errorf("error %v, want ErrLink", err)
	}
	if got := content(t, outside+"/f"); got != "old" {
		t.Errorf("the file outside holds %q", got)
	}
}

func TestCancelledWritesChangeNothing(t *testing.T) {
	p := newPlace(t, "old")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := p.writer(t, nil).Write(ctx, File{Path: p.file, Data: []byte("new"), Old: p.info(t)})
	if !errors.Is(err, context.Canceled) || content(t, p.file) != "old" {
		t.Errorf("error %v, content %q", err, content(t, p.file))
	}
	p.checkClean(t, "f")
}

// TestEveryFailureLeavesTheOldContent makes each operation of a write fail in turn, in several ways.
func TestEveryFailureLeavesTheOldContent(t *testing.T) {
	old := strings.Repeat("old ", 50)
	reached := map[string]bool{}
	for _, new := range []string{strings.Repeat("new content ", 50), "less"} {
		for _, linked := range []bool{false, true} {
			for _, errno := range []error{syscall.ENOSPC, syscall.EIO, syscall.EROFS, syscall.EDQUOT} {
				for n := 0; ; n++ {
					op := failAt(t, n, errno, linked, old, new)
					if op == "" {
						break
					}
					reached[op] = true
				}
			}
		}
	}
	for _, op := range []string{"truncate", "chmod", "chown", "listxattr", "fallocate", "flock", "fstat", "pwrite", "rename", "fsync"} {
		if !reached[op] && (os.Getuid() == 0 || op != "chown") {
			t.Errorf("%s never failed: only %v", op, slices.Sorted(maps.Keys(reached)))
		}
	}
}

// failAt makes operation n of a write fail, and returns its name, or "" if there is none.
func failAt(t *testing.T, n int, errno error, linked bool, old, new string) (failed string) {
	p := newPlace(t, old)
	want := []string{"f"}
	if linked {
		must(t, os.Link(p.file, p.dir+"/g"))
		want = append(want, "g")
	}
	if os.Getuid() == 0 {
		must(t, os.Chown(p.file, 1234, 2345))
	}
	_ = unix.Setxattr(p.file, "user.haft", []byte("kept"), 0) // not every file system has it
	fsys := &faultFS{FS: disk.OS(), before: func(i int, op string) error {
		if i == n {
			failed = op
			return errno
		}
		return nil
	}}
	_, err := p.writer(t, fsys).Write(context.Background(), File{Path: p.file, Data: []byte(new), Old: p.info(t)})
	got := content(t, p.file)
	if got != old && got != new || (err != nil) != (got == old) {
		t.Fatalf("linked %v, %v at operation %d (%s): content %q, error %v", linked, errno, n, failed, got, err)
	}
	if failed != "remove" {
		p.checkClean(t, want...)
	}
	return failed
}

func TestAFullJournalIsNamed(t *testing.T) {
	for _, linked := range []bool{false, true} {
		p := newPlace(t, "old")
		if linked {
			must(t, os.Link(p.file, p.dir+"/g"))
		}
		fsys := &faultFS{FS: disk.OS(), before: func(_ int, op string) error {
			if op == "write" { // the first is in the journal
				return syscall.ENOSPC
			}
			return nil
		}}
		_, err := p.writer(t, fsys).Write(context.Background(), File{Path: p.file, Data: []byte("new"), Old: p.info(t)})
		var full *SpaceError
		if !errors.As(err, &full) || full.Store != p.journal || !strings.Contains(err.Error(), "where haft saves contents") {
			t.Errorf("linked %v: %v", linked, err)
		}
	}
}

// TestErrorsSayWhatHappened pins the text of every error that a write can end with.
func TestErrorsSayWhatHappened(t *testing.T) {
	var out strings.Builder
	do := func(name string, linked bool, fail func(op string) error) {
		p := newPlace(t, "old")
		if linked {
			must(t, os.Link(p.file, p.dir+"/g"))
		}
		fsys := &faultFS{FS: disk.OS(), before: func(_ int, op string) error { return fail(op) }}
		_, err := p.writer(t, fsys).Write(context.Background(), File{Path: p.file, Data: []byte("new"), Old: p.info(t)})
		if err == nil {
			t.Errorf("%s: no error", name)
			return
		}
		text := strings.NewReplacer(p.file, "/project/f", p.journal, "/state/writes").Replace(err.Error())
		fmt.Fprintf(&out, "== %s\n%s\n\n", name, steady.ReplaceAllString(text, "N$1"))
	}
	errs := []error{syscall.ENOSPC, syscall.EDQUOT}
	for _, r := range reasons {
		if !cannotReplace(r.err) && r.err != fs.ErrPermission {
			errs = append(errs, r.err)
		}
	}
	for _, want := range errs {
		do(want.Error(), false, func(op string) error {
			if op == "rename" {
				return &fs.PathError{Op: op, Path: "/project/f", Err: want}
			}
			return nil
		})
	}
	do("half-written and not undone", true, func(op string) error {
		if op == "pwrite" {
			return syscall.EIO
		}
		return nil
	})
	do("a full journal", true, func(op string) error {
		if op == "write" {
			return syscall.ENOSPC
		}
		return nil
	})
	golden.Check(t, "testdata/errors.golden", out.String())
}

// steady matches what differs from run to run: free space and names in the journal.
var steady = regexp.MustCompile(`\d+( are free)|[0-9a-f]{16}`)

func TestWhereRenameIsImpossibleTheFileIsWrittenInPlace(t *testing.T) {
	for _, errno := range []error{syscall.EXDEV, syscall.EBUSY, syscall.EACCES} {
		p := newPlace(t, "old")
		ino := p.info(t).Ino
		fsys := &faultFS{FS: disk.OS(), before: func(_ int, op string) error {
			if op == "rename" {
				return errno
			}
			return nil
		}}
		_, err := p.writer(t, fsys).Write(context.Background(), File{Path: p.file, Data: []byte("new"), Old: p.info(t)})
		must(t, err)
		if got := content(t, p.file); got != "new" || p.info(t).Ino != ino {
			t.Errorf("%v: content %q", errno, got)
		}
		p.checkClean(t, "f")
	}
}

func TestRecoveryLeavesForeignChangesAlone(t *testing.T) {
	p := newPlace(t, "old")
	w := p.writer(t, nil)
	e, err := w.prepare(File{Path: p.file, Data: []byte("new"), Old: p.info(t)}, []byte("old"))
	must(t, err)
	must(t, e.file.Close()) // the writer died
	must(t, os.WriteFile(p.file, []byte("something else"), 0o644))
	left, err := p.writer(t, nil).Recover()
	must(t, err)
	if len(left) != 1 || left[0].Action != "left as it is: it has changed since" || content(t, left[0].Saved) != "old" {
		t.Fatalf("leftovers %+v", left)
	}
	if content(t, p.file) != "something else" {
		t.Error("a foreign change was overwritten")
	}
	if again, err := p.writer(t, nil).Recover(); err != nil || len(again) != 0 {
		t.Errorf("reported twice: %v %v", again, err)
	}
}

func TestRecoveryActsOnNothingThatOthersCouldHaveMade(t *testing.T) {
	for _, suffix := range []string{recordSuffix, oldSuffix} {
		p := newPlace(t, "old")
		w := p.writer(t, nil)
		e, err := w.prepare(File{Path: p.file, Data: []byte("other"), Old: p.info(t)}, []byte("evil"))
		must(t, err)
		must(t, e.file.Close())
		must(t, os.WriteFile(p.file, []byte("othe"), 0o644)) // torn
		must(t, os.Chmod(filepath.Join(p.journal, e.id+suffix), 0o644))
		_, err = p.writer(t, nil).Recover()
		if err == nil || !strings.Contains(err.Error(), "was not created by haft") || content(t, p.file) != "othe" {
			t.Errorf("%s: error %v, content %q", suffix, err, content(t, p.file))
		}
	}
}

func TestRecoveryLeavesLivingWritersAlone(t *testing.T) {
	p := newPlace(t, "old")
	w := p.writer(t, nil)
	e, err := w.begin(record{Kind: kindReplace, Dir: p.dir, Name: "f", Temp: tempPrefix + "x"})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(p.dir, tempPrefix+"x"), nil, 0o600))
	left, err := p.writer(t, nil).Recover()
	must(t, err)
	if len(left) != 0 {
		t.Errorf("recovered %v while its writer lives", left)
	}
	must(t, e.file.Close())
	left, err = p.writer(t, nil).Recover()
	must(t, err)
	if len(left) != 1 {
		t.Errorf("recovered %v after its writer died", left)
	}
	p.checkClean(t, "f")
}

// The folder is gone, and the temporary file with it: nothing is left to say. A folder
// that cannot be opened just now is tried again the next time.
func TestRecoveryOfAWriteWhoseFolderIsNotThere(t *testing.T) {
	p := newPlace(t, "old")
	for _, name := range []string{"gone", "link"} {
		e, err := p.writer(t, nil).begin(record{Kind: kindReplace, Dir: filepath.Join(p.dir, name), Name: "f", Temp: tempPrefix + "x"})
		must(t, err)
		must(t, e.file.Close())
	}
	must(t, os.Symlink(t.TempDir(), filepath.Join(p.dir, "link")))
	left, err := p.writer(t, nil).Recover()
	if !errors.Is(err, disk.ErrLink) || len(left) != 0 {
		t.Errorf("leftovers %v, error %v", left, err)
	}
	if kept := names(t, p.journal); len(kept) != 1 {
		t.Errorf("the journal holds %q, want the record of the folder that is now a link", kept)
	}
	must(t, os.Remove(filepath.Join(p.dir, "link")))
	if left, err := p.writer(t, nil).Recover(); err != nil || len(left) != 0 {
		t.Errorf("once the link is gone: leftovers %v, error %v", left, err)
	}
	p.checkClean(t, "f")
}

func TestARecordThatARecoveryRemovedIsMadeAgain(t *testing.T) {
	p := newPlace(t, "old")
	removed := false
	fsys := &faultFS{FS: disk.OS(), before: func(_ int, op string) error {
		if op == "flock" && !removed {
			removed = true
			for _, name := range names(t, p.journal) {
				must(t, os.Remove(filepath.Join(p.journal, name)))
			}
		}
		return nil
	}}
	e, err := p.writer(t, fsys).begin(record{Kind: kindReplace})
	must(t, err)
	defer e.end()
	if d := cmp.Diff([]string{e.id + recordSuffix}, names(t, p.journal)); d != "" {
		t.Error(d)
	}
}

func TestAJournalThatOthersCanWriteInIsRefused(t *testing.T) {
	p := newPlace(t, "old")
	must(t, os.Mkdir(p.journal, 0o700))
	must(t, os.Chmod(p.journal, 0o777))
	w := p.writer(t, nil)
	if _, err := w.Recover(); err == nil {
		t.Error("recovery believes what anybody may have written")
	}
	if _, err := w.Write(context.Background(), File{Path: p.file, Data: []byte("new"), Old: p.info(t)}); err == nil || content(t, p.file) != "old" {
		t.Errorf("error %v, content %q", err, content(t, p.file))
	}
}

func TestRecoverySurvivesGarbage(t *testing.T) {
	p := newPlace(t, "old")
	must(t, os.MkdirAll(p.journal, 0o700))
	for name, b := range map[string]string{"a.write": "", "b.write": "{", "c.write": `{"Kind":"in place"}`, "d.old": "x", "e.write": `{"Kind":"replace","Dir":"` + p.dir + `","Name":"f","Temp":"f"}`} {
		must(t, os.WriteFile(filepath.Join(p.journal, name), []byte(b), 0o600))
	}
	_, err := p.writer(t, nil).Recover()
	if err == nil {
		t.Error("a record that names the file itself as temporary was believed")
	}
	if content(t, p.file) != "old" {
		t.Error("the file was touched")
	}
}

// TestFullDisk needs a file system of its own.
func TestFullDisk(t *testing.T) {
	for _, linked := range []bool{false, true} {
		dir := mountTmpfs(t, "size=256k")
		p := placeIn(t, dir, "old")
		p.journal = filepath.Join(t.TempDir(), "journal")
		if linked {
			must(t, os.Link(p.file, p.dir+"/g"))
		}
		must(t, os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 100<<10), 0o600))
		data := bytes.Repeat([]byte("x"), 300<<10)
		_, err := p.writer(t, nil).Write(context.Background(), File{Path: p.file, Data: data, Old: p.info(t)})
		var space *SpaceError
		if !errors.As(err, &space) || space.Need != uint64(len(data)) || space.Free == 0 || space.Free >= space.Need {
			t.Fatalf("error %v", err)
		}
		if missing := fmt.Sprintf("%d more are needed", space.Need-space.Free); !strings.Contains(err.Error(), missing) {
			t.Errorf("error %q does not say %q", err, missing)
		}
		if got := content(t, p.file); got != "old" {
			t.Errorf("linked %v: content %.20q", linked, got)
		}
		want := []string{"f"}
		if linked {
			want = append(want, "g")
		}
		p.checkClean(t, want...)
	}
}

func TestReadOnlyFileSystemAndMountedFile(t *testing.T) {
	dir := mountTmpfs(t, "size=256k")
	p := placeIn(t, dir, "old")
	p.journal = filepath.Join(t.TempDir(), "journal")
	other := filepath.Join(dir, "other")
	must(t, os.WriteFile(other, []byte("other"), 0o600))
	must(t, unix.Mount(other, p.file, "", unix.MS_BIND, ""))
	_, err := p.writer(t, nil).Write(context.Background(), File{Path: p.file, Data: []byte("new"), Old: p.info(t)})
	if err != nil || content(t, other) != "new" {
		t.Errorf("a mounted file: error %v, content %q", err, content(t, other))
	}
	must(t, unix.Unmount(p.file, 0))
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	_, err = p.writer(t, nil).Write(context.Background(), File{Path: p.file, Data: []byte("new"), Old: p.info(t)})
	if !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "the file system is read-only") {
		t.Errorf("error %v", err)
	}
}

// mountTmpfs mounts a small file system for one test.
func mountTmpfs(t *testing.T, opts string) string {
	t.Helper()
	needtest.Need(t, needtest.Mounts)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", opts, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Fatalf("mount: %s", out)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}
