// Package output limits what a tool's result puts into a conversation. A result that is
// too long is stored in a file. The model gets its beginning, its end, its size and the
// path of the file, and is told first that something was left out: nothing is lost
// silently, and the last line of a failing command is always visible.
//
// A Store writes only below its directory, to files named after the call. It is safe
// for concurrent use. Nothing needs to be closed: the owner of the directory removes it,
// or shares it with NewShared, which removes old files.
package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/tool"
)

// MaxData is how many bytes the images and documents of a result may have together. Providers
// refuse larger requests, and a refused request would end the conversation.
const MaxData = 32 << 20

// A Store keeps what is too long for a conversation. A nil Store keeps nothing.
type Store struct {
	dir   string
	sweep func() // once, before the first file; nil if the folder is not shared
}

// NewStore returns a store below dir, which is created when it is first needed.
func NewStore(dir string) *Store { return &Store{dir: dir} }

// Dir returns where the store keeps its files; it need not exist yet.
func (s *Store) Dir() string { return s.dir }

// Sweep removes old files that other processes left in a shared folder. The store does it
// by itself before its first file; a program that puts other files into Dir calls it first.
func (s *Store) Sweep() {
	if s.sweep != nil {
		s.sweep()
	}
}

// Bound returns content with at most limit characters of text, or as many as it takes to
// say what was left out. A longer text is stored in full under the call's id. Kept is nil
// if nothing was cut, and has no path if it could not be stored.
func (s *Store) Bound(id string, content []tool.Block, limit int) ([]tool.Block, *tool.Kept) {
	before := Size(content)
	content, replaced := s.saveFiles(id, content)
	content, dropped := s.boundData(id, content)
	size := before
	if replaced || dropped != nil {
		size = Size(content)
	}
	limit += size - before // where files were stored is said beside the text
	if size <= limit {
		return content, dropped
	}
	whole := tool.JoinText(content)
	kept := &tool.Kept{Bytes: int64(len(whole))}
	var where string
	path, err := s.keep(id+".txt", func(f *os.File) error { _, err := f.WriteString(whole); return err })
	switch {
	case err != nil:
		where = "The whole result could not be saved: " + err.Error() + "."
	case path == "":
		where = "The rest was not saved; narrow the request to see it."
	default:
		kept.Path = path
		where = "The whole result is in " + path + "."
	}
	lines := strings.Count(whole, "\n") + 1
	short := abridge(whole, limit, func(head, tail int) string {
		return fmt.Sprintf("[The result is too long to show: %d characters in %s. Here are the first %d and the last %d characters; %d are left out. %s]\n",
			size, plural.Of(lines, "line"), head, tail, size-head-tail, where)
	})
	bounded := []tool.Block{{Type: tool.TextBlock, Text: short}}
	for _, b := range content {
		if b.Type != tool.TextBlock {
			bounded = append(bounded, b)
		}
	}
	return bounded, kept
}

// saveFiles stores files that no model can read where tools can open them, and says where. It reports whether there are any.
func (s *Store) saveFiles(id string, content []tool.Block) (_ []tool.Block, copied bool) {
	for i, b := range content {
		if b.Type != tool.FileBlock {
			continue
		}
		if !copied {
			content, copied = slices.Clone(content), true // the tool may hold on to its own
		}
		text := fmt.Sprintf("[%s: %s, %d bytes", b.Text, b.MediaType, len(b.Data))
		switch path, err := s.keep(fmt.Sprintf("%s-%d%s", id, i, extension(b.MediaType)), writeData(b.Data)); {
		case err != nil:
			text += "; it cannot be shown, and could not be saved: " + err.Error()
		case path == "":
			text += "; it cannot be shown"
		default:
			text += "; saved in " + path
		}
		content[i] = tool.Block{Type: tool.TextBlock, Text: text + "]"}
	}
	return content, copied
}

// extension is the file name extension of a type, because programs look at it.
func extension(mediaType string) string {
	kind, _, _ := strings.Cut(strings.ToLower(mediaType), ";")
	if ext := map[string]string{
		"application/zip": ".zip", "application/gzip": ".gz", "application/x-gzip": ".gz", "application/x-tar": ".tar",
		"application/pdf": ".pdf", "application/json": ".json", "application/wasm": ".wasm", "application/xml": ".xml",
		"audio/wav": ".wav", "audio/wave": ".wav", "audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "audio/flac": ".flac", "audio/webm": ".webm", "audio/mp4": ".m4a",
		"video/mp4": ".mp4", "video/webm": ".webm", "image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         ".xlsx",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   ".docx",
		"application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
	}[strings.TrimSpace(kind)]; ext != "" {
		return ext
	}
	return ".bin"
}

// boundData replaces images and documents that are too large by a sentence.
func (s *Store) boundData(id string, content []tool.Block) ([]tool.Block, *tool.Kept) {
	var kept *tool.Kept
	room := MaxData
	for i, b := range content {
		if room -= len(b.Data); room >= 0 || len(b.Data) == 0 {
			continue
		}
		room += len(b.Data)
		if kept == nil {
			content = slices.Clone(content) // the tool may hold on to its own
		}
		note := fmt.Sprintf("[%s of %d bytes left out: the limit is %d bytes.", b.Type, len(b.Data), MaxData)
		kept = &tool.Kept{Bytes: int64(len(b.Data))}
		if path, err := s.keep(fmt.Sprintf("%s-%d.bin", id, i), writeData(b.Data)); err == nil && path != "" {
			kept.Path = path
			note += " It is saved in " + path + "."
		}
		content[i] = tool.Block{Type: tool.TextBlock, Text: note + "]"}
	}
	return content, kept
}

func writeData(data []byte) func(*os.File) error {
	return func(f *os.File) error { _, err := f.Write(data); return err }
}

// keep writes a file under name; "" means that there is no store.
func (s *Store) keep(name string, write func(*os.File) error) (string, error) {
	if s == nil {
		return "", nil
	}
	s.Sweep()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", fmt.Errorf("keep result: %w", err)
	}
	f, err := s.create(safeName(name))
	if err != nil {
		return "", fmt.Errorf("keep result: %w", err)
	}
	if err = errors.Join(write(f), f.Close()); err != nil {
		os.Remove(f.Name()) // a part would be taken for the whole
		return "", fmt.Errorf("keep result: %w", err)
	}
	return f.Name(), nil
}

// create creates a new file. An earlier result of the same name stays, because the model
// has its path.
func (s *Store) create(name string) (*os.File, error) {
	ext := filepath.Ext(name)
	base := strings.TrimSuffix(name, ext)
	for n := 2; ; n++ {
		f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
		name = fmt.Sprintf("%s-%d%s", base, n, ext)
	}
}

// Shorten cuts the middle out of text that is longer than limit characters.
func Shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return abridge(s, limit, func(int, int) string { return "" })
}

// safeName turns a call's id, which a provider chose, into a file name.
func safeName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, strings.TrimLeft(name, "."))
}

// Size returns how many characters of text content has.
func Size(content []tool.Block) int {
	n := 0
	for _, b := range content {
		if b.Type == tool.TextBlock {
			n += utf8.RuneCountInString(b.Text)
		}
	}
	return n
}

// abridge returns note(head, tail) with the first head and last tail characters of s, at
// most limit characters in all if limit has room for the note.
func abridge(s string, limit int, note func(head, tail int) string) string {
	room := max(0, limit-utf8.RuneCountInString(note(limit, limit))-len(gap))
	head := prefix(s, room*3/5)
	tail := suffix(s[len(head):], room-room*3/5)
	return note(utf8.RuneCountInString(head), utf8.RuneCountInString(tail)) + head + gap + tail
}

const gap = "\n…\n"

// prefix returns the first n characters of s, up to the end of a line if there is one in
// the last quarter.
func prefix(s string, n int) string {
	end := 0
	for range n {
		_, w := utf8.DecodeRuneInString(s[end:])
		if w == 0 {
			break
		}
		end += w
	}
	if i := strings.LastIndexByte(s[:end], '\n'); i > end*3/4 {
		end = i
	}
	return s[:end]
}

// suffix returns the last n characters of s, from the start of a line if there is one in
// the first quarter.
func suffix(s string, n int) string {
	start := len(s)
	for range n {
		_, w := utf8.DecodeLastRuneInString(s[:start])
		if w == 0 {
			break
		}
		start -= w
	}
	tail := s[start:]
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/4 {
		tail = tail[i+1:]
	}
	return tail
}
