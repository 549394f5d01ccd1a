package preview

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/text/plural"
)

// gitDir returns the repository's own folder that a path lies in; "" for none.
func gitDir(path string) string {
	parts := strings.Split(path, "/")
	if i := slices.Index(parts, ".git"); i >= 0 {
		return strings.Join(parts[:i+1], "/")
	}
	return ""
}

// The parts of a repository's own folder that people speak of in other words than
// by its files. Its settings and hooks are none of them: they are shown like any file.
type gitKind int

const (
	gitOther gitKind = iota
	gitRefs
	gitObjects
	gitIndex
	gitLogs
)

// gitPart says what of a repository a path is.
func gitPart(path string) gitKind {
	dir := gitDir(path)
	if dir == "" {
		return gitOther
	}
	name := strings.TrimPrefix(strings.TrimPrefix(path, dir), "/")
	if rest, ok := strings.CutPrefix(name, "worktrees/"); ok { // of a linked work tree
		_, name, _ = strings.Cut(rest, "/")
	}
	switch first, _, _ := strings.Cut(name, "/"); {
	case first == "refs", name == "HEAD", name == "packed-refs":
		return gitRefs
	case objectFile.MatchString(name):
		return gitObjects
	case name == "index":
		return gitIndex
	case name == "", logFile.MatchString(name), first == "hooks" && strings.HasSuffix(name, ".sample"), slices.Contains(gitScratch, name):
		return gitLogs
	}
	return gitOther
}

var (
	// objectFile is what git itself calls the files of its objects.
	objectFile = lazyregexp.New(`^objects(/([0-9a-f]{2}(/([0-9a-f]{38}|[0-9a-f]{62}|tmp_obj_\w+))?|pack(/(pack-|multi-pack-index|tmp_)[\w.-]*)?|info(/(packs|commit-graph[\w/.-]*))?))?$`)
	logFile    = lazyregexp.New(`^logs(/(HEAD|refs(/.*)?))?$`)
)

// gitScratch are files in which git notes what it did or is about to do.
var gitScratch = []string{"COMMIT_EDITMSG", "ORIG_HEAD", "FETCH_HEAD", "MERGE_MSG", "MERGE_HEAD", "MERGE_MODE", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD",
	"SQUASH_MSG", "description", "hooks", "info", "branches", "gc.log", "gc.pid"}

// isRefreshedIndex reports whether all that changed of git's index are the times by
// which git tells that files are as they were, as after git status.
func isRefreshedIndex(e *entry) bool {
	if filepath.Base(e.path) != "index" || gitDir(e.path) != filepath.Dir(e.path) || !e.before.held || !e.after.held {
		return false
	}
	before, err := indexEntries(e.before.raw)
	if err != nil {
		return false
	}
	after, err := indexEntries(e.after.raw)
	return err == nil && slices.Equal(before, after)
}

var errIndex = errors.New("git's index cannot be read")

// indexEntries lists what an index says about files, without their times. Versions
// that it does not know are errors.
func indexEntries(raw []byte) ([]string, error) {
	const header, fixed = 12, 62 // bytes
	if len(raw) < header || string(raw[:4]) != "DIRC" {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(raw[4:]), binary.BigEndian.Uint32(raw[8:])
	if version != 2 && version != 3 {
		return nil, errIndex
	}
	var list []string
	for at := header; count > 0; count-- {
		size := fixed
		if at+size > len(raw) {
			return nil, errIndex
		}
		flags := binary.BigEndian.Uint16(raw[at+60:])
		if flags&0x4000 != 0 { // extended flags
			size += 2
		}
		if at+size > len(raw) {
			return nil, errIndex
		}
		end := bytes.IndexByte(raw[at+size:], 0)
		if end < 0 {
			return nil, errIndex
		}
		name := raw[at+size : at+size+end]
		list = append(list, fmt.Sprintf("%x %x %x %s", raw[at+24:at+28], raw[at+40:at+60], raw[at+60:at+size], name))
		at += (size + end + 8) &^ 7
	}
	return list, nil
}

// A repository is what changed of one, as people speak of it.
type repository struct {
	dir     string
	refs    []string // changed, without refs/
	commits []string // new ones, by their first lines
	objects int
	index   bool
	logs    bool
}

func (r *repository) note(name string, e *entry) {
	switch gitPart(e.path) {
	case gitRefs:
		r.refs = append(r.refs, strings.TrimPrefix(name, "refs/")+change(e))
	case gitObjects:
		r.objects++
		if title := commitTitle(e); title != "" {
			id := strings.ReplaceAll(strings.TrimPrefix(name, "objects/"), "/", "")
			r.commits = append(r.commits, fmt.Sprintf("commit %s %q", id[:min(7, len(id))], title))
		}
	case gitIndex:
		r.index = true
	case gitLogs:
		r.logs = true
	}
}

// commitTitle is the first line of what a commit says; "" of any other object.
func commitTitle(e *entry) string {
	if e.before.Exists() || !e.after.held || len(e.after.raw) > 64<<10 {
		return ""
	}
	z, err := zlib.NewReader(bytes.NewReader(e.after.raw))
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(z, 64<<10))
	if err != nil || !bytes.HasPrefix(text, []byte("commit ")) {
		return ""
	}
	_, message, _ := strings.Cut(string(text), "\n\n")
	title, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return title[:min(len(title), 100)]
}

// change is how a small text of a line goes from one value to another.
func change(e *entry) string {
	value := func(v version) string {
		text, _, _ := strings.Cut(strings.TrimSpace(string(v.raw)), "\n")
		switch {
		case !v.Exists():
			return "none"
		case len(text) == 40 && strings.Trim(text, "0123456789abcdef") == "":
			return text[:7]
		case strings.HasPrefix(text, "ref: "):
			return strings.TrimPrefix(text, "ref: refs/heads/")
		}
		return "?"
	}
	before, after := value(e.before), value(e.after)
	if before == "?" || after == "?" {
		return ""
	}
	return " " + before + " → " + after
}

// String is a line about the repository.
func (r *repository) String() string {
	var parts []string
	if len(r.refs) > 0 {
		parts = append(parts, Listed(r.refs, 5))
	}
	if len(r.commits) > 0 {
		parts = append(parts, Listed(r.commits, 5))
	}
	if more := r.objects - len(r.commits); more > 0 {
		parts = append(parts, plural.Of(more, "new or changed object"))
	}
	if r.index {
		parts = append(parts, "the index")
	}
	if r.logs && len(parts) == 0 {
		parts = append(parts, "its log")
	}
	return r.dir + ": " + strings.Join(parts, ", ")
}

// Listed names the first few of a list, and how many more there are.
func Listed(all []string, most int) string {
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}
