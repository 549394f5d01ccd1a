package preview

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// gitDir returns the repository's own folder that a path lies in; "" for none.
func gitDir(path string) string {
	parts := strings.Split(path, "/")
	if i := slices.Index(parts, ".git"); i >= 0 {
		return strings.Join(parts[:i+1], "/")
	}
	return ""
}

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
	objects int
	index   bool
	other   []string // settings, hooks and whatever else
	logs    bool
}

// repositories sums up what changed in the folders of git itself.
func repositories(list []entry) []repository {
	var all []repository
	for i := range list {
		e := &list[i]
		dir := gitDir(e.path)
		if dir == "" || e.path == dir || e.before.Mode.IsDir() || e.after.Mode.IsDir() {
			continue
		}
		n := slices.IndexFunc(all, func(r repository) bool { return r.dir == dir })
		if n < 0 {
			n = len(all)
			all = append(all, repository{dir: dir})
		}
		all[n].note(strings.TrimPrefix(e.path, dir+"/"), e)
	}
	return all
}

func (r *repository) note(name string, e *entry) {
	switch {
	case strings.HasPrefix(name, "refs/"), name == "HEAD", name == "packed-refs":
		r.refs = append(r.refs, strings.TrimPrefix(name, "refs/")+change(e))
	case strings.HasPrefix(name, "objects/"):
		r.objects++
	case name == "index":
		r.index = true
	case strings.HasPrefix(name, "logs/"), name == "COMMIT_EDITMSG", name == "ORIG_HEAD", name == "FETCH_HEAD", name == "MERGE_MSG":
		r.logs = true
	default:
		r.other = append(r.other, name)
	}
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
		parts = append(parts, listed(r.refs, 5))
	}
	if r.objects > 0 {
		parts = append(parts, plural(r.objects, "new or changed object"))
	}
	if r.index {
		parts = append(parts, "the index")
	}
	if len(r.other) > 0 {
		parts = append(parts, "files of git itself: "+listed(r.other, 5))
	}
	if r.logs && len(parts) == 0 {
		parts = append(parts, "its log")
	}
	return r.dir + ": " + strings.Join(parts, ", ")
}

func listed(all []string, most int) string {
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
