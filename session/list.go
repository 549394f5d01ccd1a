package session

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/model"
)

// Info describes a session in a list.
type Info struct {
	ID       string    `json:"id"`
	Path     string    `json:"path"`
	Cwd      string    `json:"cwd,omitempty"`
	Branch   string    `json:"branch,omitempty"`
	Title    string    `json:"title,omitempty"`
	Tag      string    `json:"tag,omitempty"`
	Prompt   string    `json:"prompt,omitempty"` // the first one, shortened
	Created  time.Time `json:"created,omitzero"`
	Modified time.Time `json:"modified"`
	Size     int64     `json:"size"`
}

// ListOptions say which sessions to list.
type ListOptions struct {
	// Cwd lists those of one working directory; "" lists all.
	Cwd string
	// Limit is how many at most; 0 means all.
	Limit int
	// Known returns what is known about a file of this size and time, which is then not
	// read again; nil means nothing.
	Known func(path string, size int64, modified time.Time) (Info, bool)
}

// fill says what is known about a session, or what its file says.
func (i *Info) fill(o *ListOptions) error {
	if o.Known != nil {
		if known, ok := o.Known(i.Path, i.Size, i.Modified); ok {
			*i = known
			return nil
		}
	}
	if err := i.look(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// foreign reports whether a session in the folder of a working directory is one of
// another: the folders of /x/a-b, /x/a_b and /x/a/b have one name. The last line that
// was written in a directory of that name decides.
func (i *Info) foreign(cwd string) bool {
	name, mine := filepath.Base(filepath.Dir(i.Path)), physical(cwd)
	if mangle(mine) != name {
		return false
	}
	seen := map[string]string{} // the physical path, by the recorded one
	last := ""
	note := func(dir string) {
		if _, ok := seen[dir]; !ok {
			seen[dir] = physical(dir)
		}
		if dir = seen[dir]; mangle(dir) == name {
			last = dir
		}
	}
	if note(i.Cwd); last == "" {
		_ = i.glance(func(raw []byte, _ bool) { // what cannot be read names no other
			var l line
			if l.decode(raw) == nil && l.Cwd != "" {
				note(l.Cwd)
			}
		})
	}
	recorded := string([]rune(mine)) // JSON has U+FFFD for each byte that is not UTF-8
	return last != "" && last != recorded
}

// glance is how much of each end of a file is read.
const glance = 64 << 10

// look fills in what the beginning and end of the file say.
func (i *Info) look() error { return i.glance(i.note) }

// glance calls f for the lines at the beginning and at the end of the file.
func (i *Info) glance(f func(raw []byte, head bool)) error {
	file, err := regular.Open(i.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	head := make([]byte, min(glance, i.Size))
	if _, err := file.ReadAt(head, 0); err != nil && err != io.EOF {
		return err
	}
	for raw := range bytes.Lines(head) {
		f(raw, true)
	}
	if i.Size <= glance {
		return nil
	}
	end := make([]byte, glance)
	if _, err := file.ReadAt(end, i.Size-glance); err != nil && err != io.EOF {
		return err
	}
	for raw := range bytes.Lines(end) {
		f(raw, false)
	}
	return nil
}

func (i *Info) note(raw []byte, head bool) {
	var l line
	if l.decode(raw) != nil {
		return
	}
	if l.Cwd != "" {
		i.Cwd, i.Branch = l.Cwd, l.GitBranch
	}
	if i.Created.IsZero() && head {
		i.Created = l.time()
	}
	if l.CustomTitle != "" {
		i.Title = l.CustomTitle
	}
	if l.Type == "tag" && l.Tag != nil {
		i.Tag = *l.Tag
	}
	if i.Prompt == "" && head && l.Type == "user" && !l.IsMeta && !l.IsSummary {
		if m, err := l.message(); err == nil {
			i.Prompt = firstText(m.Content)
		}
	}
}

const promptLength = 200

// firstText returns the first line of a message, shortened.
func firstText(blocks []model.Block) string {
	for _, b := range blocks {
		if b.Type != model.Text || strings.TrimSpace(b.Text) == "" {
			continue
		}
		text, _, _ := strings.Cut(strings.TrimSpace(b.Text), "\n")
		return shorten.To(text, promptLength+1)
	}
	return ""
}
