package card

import (
	"bytes"
	"io/fs"
	"net/http"
	"strings"

	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/tool"
)

// A FileDiff is a change of one file, for people.
type FileDiff struct {
	Path string // as it is on the disk, not made visible
	// Notes say what the hunks do not: that the file is new, deleted or renamed, that
	// its mode changes, why there are no hunks.
	Notes []string
	Hunks []patch.Hunk
	// Protected says that it matters who changes the file; Notes say why.
	Protected bool

	words *lang.Catalogue
}

// MaxDiff is how large a file may be, before or after, whose change is shown line by
// line.
const MaxDiff = 4 << 20

// diffContext is how many unchanged lines surround a change.
const diffContext = 3

// Diff returns a change as people see it, in their language; nil is English.
func Diff(f tool.FileChange, words *lang.Catalogue) FileDiff {
	d := fileOf(f, words)
	before, after := textOf(f.Before), textOf(f.After)
	switch {
	case same(f.Before, f.After), special(f.Before) && special(f.After):
	case isLink(f.After):
		d.note("to %s", visible.Name(string(f.After.Raw)))
	case f.Folded != "":
		d.note("%s, %s", f.Folded, d.sizes(f))
	case binary(f.Before) || binary(f.After):
		d.note("%s, %s", d.kind(f), d.sizes(f))
	case len(before) > MaxDiff || len(after) > MaxDiff:
		d.note("too large to show, %s", d.sizes(f))
	default:
		if crlf(before) && crlf(after) && (bytes.ContainsRune(before, '\r') || bytes.ContainsRune(after, '\r')) {
			before, after = bytes.ReplaceAll(before, []byte("\r\n"), []byte("\n")), bytes.ReplaceAll(after, []byte("\r\n"), []byte("\n"))
			d.note("lines end in CRLF")
		}
		if d.Hunks = patch.Diff(before, after, diffContext); d.Hunks == nil && len(before)+len(after) > 0 {
			d.Notes = append(d.Notes, d.unseen(f))
		}
	}
	return d
}

// diffWith is Diff for versions without contents, given the hunks.
func diffWith(hunks []patch.Hunk, f tool.FileChange, words *lang.Catalogue) FileDiff {
	d := fileOf(f, words)
	d.Hunks = hunks
	switch {
	case len(hunks) > 0, same(f.Before, f.After), special(f.Before) && special(f.After):
	case f.Folded != "":
		d.note("%s, %s", f.Folded, d.sizes(f))
	case f.Before != nil && f.Before.Binary || f.After != nil && f.After.Binary:
		d.note("%s, %s", words.T("binary"), d.sizes(f))
	case sizeOf(f.Before)+sizeOf(f.After) > 0:
		d.note("the content is not shown, %s", d.sizes(f))
	}
	return d
}

func sizeOf(v *tool.Version) int64 {
	if v == nil {
		return 0
	}
	return v.Size
}

// fileOf is a change as far as the contents do not matter.
func fileOf(f tool.FileChange, words *lang.Catalogue) FileDiff {
	d := FileDiff{Path: f.Path, Protected: f.Protected != "", words: words}
	if d.Protected {
		d.note("protected: %s", visible.Indented(f.Protected))
	}
	switch {
	case f.Before == nil:
		d.note(newTexts[typeName(f.After)])
	case f.After == nil && f.Before.Mode.Type() != 0:
		d.note("%s deleted", words.T(typeName(f.Before)))
	case f.After == nil:
		d.note("deleted")
	case f.Before.Mode.Type() != f.After.Mode.Type():
		d.note("%s becomes a %s", words.T(typeName(f.Before)), words.T(typeName(f.After)))
	}
	if f.From != "" {
		d.note("renamed from %s", visible.Name(f.From))
	}
	if f.Before != nil && f.After != nil && f.Before.Mode != f.After.Mode {
		d.note("mode %s → %s", f.Before.Mode, f.After.Mode)
	}
	if f.Before == nil && unusual(f.After) {
		d.note("mode %s", f.After.Mode)
	}
	return d
}

func (d *FileDiff) note(text lang.Text, args ...any) {
	d.Notes = append(d.Notes, d.words.T(text, args...))
}

// unusual reports whether the mode of a new file matters: it can be run, runs as its
// owner, or anyone may write it.
func unusual(v *tool.Version) bool {
	return v != nil && v.Mode.IsRegular() && (v.Mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 || v.Mode&0o113 != 0)
}

// unseen says what changes of a file whose text stays the same.
func (d *FileDiff) unseen(f tool.FileChange) string {
	if f.Before != nil && f.After != nil && f.Before.Raw != nil && bytes.Equal(f.Before.Raw, f.After.Raw) {
		return d.words.T("same content, different extended attributes")
	}
	return d.words.T("same text, different encoding, %s", d.sizes(f))
}

// same reports whether a file keeps its content.
func same(a, b *tool.Version) bool {
	return a != nil && b != nil && a.Size == b.Size && a.Digest == b.Digest && a.Mode.Type() == b.Mode.Type()
}

func binary(v *tool.Version) bool {
	return v != nil && (v.Binary || v.Mode.Type()&^fs.ModeSymlink != 0 || v.Raw == nil && v.Size > 0)
}

// typeName is what a file is, in a word.
func typeName(v *tool.Version) lang.Text {
	switch {
	case v.Mode.IsDir():
		return "folder"
	case isLink(v):
		return "link"
	case v.Mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	}
	return "regular file"
}

// newTexts say what is new.
var newTexts = map[lang.Text]lang.Text{"regular file": "new file", "folder": "new folder", "link": "new link", "named pipe": "new named pipe"}

func isLink(v *tool.Version) bool { return v != nil && v.Mode&fs.ModeSymlink != 0 }

// special reports whether a version is none, or a folder or pipe: it has no content.
func special(v *tool.Version) bool { return v == nil || v.Mode&(fs.ModeDir|fs.ModeNamedPipe) != 0 }

// kind is what a file that is no text holds, as its first bytes say.
func (d *FileDiff) kind(f tool.FileChange) string {
	v := f.After
	if v == nil {
		v = f.Before
	}
	switch {
	case bytes.HasPrefix(v.Raw, []byte("\x7fELF")):
		return d.words.T("program")
	case bytes.HasPrefix(v.Raw, []byte("SQLite format 3\x00")):
		return d.words.T("SQLite database")
	}
	name, _, _ := strings.Cut(http.DetectContentType(v.Raw), ";")
	if len(v.Raw) == 0 || name == "application/octet-stream" || strings.HasPrefix(name, "text/") {
		return d.words.T("binary")
	}
	return d.words.T("binary") + ", " + name
}

func textOf(v *tool.Version) []byte {
	if v == nil {
		return nil
	}
	return v.Text
}

func (d *FileDiff) sizes(f tool.FileChange) string {
	size := func(v *tool.Version) string {
		if v == nil {
			return d.words.T("none")
		}
		return d.words.Count(int(v.Size), "byte")
	}
	return size(f.Before) + " → " + size(f.After)
}

// crlf reports whether all lines of a text end in CRLF, as far as they end. An empty
// text is no reason to show the carriage returns of the other.
func crlf(text []byte) bool {
	return bytes.Count(text, []byte("\n")) == bytes.Count(text, []byte("\r\n")) &&
		bytes.Count(text, []byte("\r")) == bytes.Count(text, []byte("\r\n"))
}

// Head is a file and what is to be known about its change in a line; "" if the
// hunks say it all.
func (d FileDiff) Head() string {
	if len(d.Notes) == 0 {
		return ""
	}
	return visible.Name(d.Path) + " (" + strings.Join(d.Notes, ", ") + ")"
}
