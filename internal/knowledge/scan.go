package knowledge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"github.com/haftdev/haft/internal/knowledge/frontmatter"
	"github.com/haftdev/haft/internal/knowledge/shelf"
)

// How much is read. What is beyond is left out and said to be.
const (
	maxText     = 512 << 10 // bytes of a file
	maxEntries  = 5_000     // files and folders of a place
	maxDepth    = 6         // folders of commands and agents
	maxOwned    = 2_000     // files that belong to one skill
	maxSum      = 64 << 20  // bytes of these files
	maxTotal    = 64 << 20  // bytes of all files
	maxProblems = 50
)

// A scan is one look at all places.
type scan struct {
	*Library
	only     string // the one name to take in; "" means all
	found    map[string]found
	names    map[string]bool   // all there are, for hints
	taken    map[string]int    // the place of the first of each name
	folders  map[string]string // the names of skills by those of their folders
	held     []Claim
	problems []Problem
	left     int64 // bytes that may still be read
}

type found struct {
	Piece
	place int
}

func (s *scan) report(path, format string, args ...any) {
	if len(s.problems) < maxProblems {
		s.problems = append(s.problems, Problem{Path: path, Text: fmt.Sprintf(format, args...)})
	}
}

// A file is one that a place may have a piece in.
type file struct {
	*shelf.Shelf
	place int
	name  string // on the shelf
	own   string // what a piece in it is called if it does not say itself
}

func (f file) path() string { return f.Path(f.name) }

func (s *scan) place(at int, p Place) {
	books, dir, err := p.open()
	if err != nil {
		return // without the folder there is nothing in it
	}
	defer books.Close()
	names := append([]string{string(s.kind) + "s"}, p.Extra[s.kind]...)
	if p.Listed[s.kind] {
		names = p.Extra[s.kind]
	}
	seen := map[string]bool{} // a folder may be listed, and found as well
	for _, name := range names {
		name = path.Join(dir, name)
		files, complete := s.files(file{Shelf: books, place: at}, name)
		if !complete {
			s.report(books.Path(name), "only part of it is read: at most %d files and folders, %d levels deep", maxEntries, maxDepth)
		}
		for _, f := range files {
			if !seen[f.name] {
				seen[f.name] = true
				s.file(p, f)
			}
		}
	}
}

// files returns the files at or below dir that hold pieces of the kind: SKILL.md in
// a folder of its own, or any Markdown.
func (s *scan) files(f file, dir string) (files []file, complete bool) {
	switch {
	case s.kind == Skill && f.Has(dir+"/SKILL.md"):
		f.name, f.own = dir+"/SKILL.md", path.Base(dir)
		return []file{f}, true
	case s.kind != Skill && strings.HasSuffix(dir, ".md"):
		f.name, f.own = dir, strings.TrimSuffix(path.Base(dir), ".md")
		return []file{f}, true
	case s.kind == Skill:
		folders, complete := f.Folders(dir, maxEntries)
		for _, folder := range folders {
			f.name, f.own = folder+"/SKILL.md", path.Base(folder)
			if f.Has(f.name) {
				files = append(files, f)
			}
		}
		return files, complete
	}
	names, complete := f.Walk(dir, shelf.Bounds{Depth: maxDepth, Entries: maxEntries})
	for _, name := range names {
		own, isMarkdown := strings.CutSuffix(strings.TrimPrefix(name, dir+"/"), ".md")
		if !isMarkdown || strings.HasPrefix(path.Base(name), ".") {
			continue
		}
		if s.kind == Agent || s.kind == Style || s.kind == Tool {
			own = path.Base(own)
		}
		f.name, f.own = name, strings.ReplaceAll(own, "/", ":")
		files = append(files, f)
	}
	return files, complete
}

// file takes a piece in, if it counts.
func (s *scan) file(p Place, f file) {
	if err := s.take(p, f); err != nil {
		s.report(f.path(), "skipped: %v", err)
	}
}

func (s *scan) take(p Place, f file) error {
	text, err := f.Read(f.name, min(maxText, s.left))
	if err != nil {
		return err
	}
	if s.left -= int64(len(text.Text)); text.Cut {
		return fmt.Errorf("it has %d bytes; the limit is %d per file and %d in total", text.Size, maxText, maxTotal)
	}
	read := s.parse(f.path(), text.Text)
	if read.err != nil {
		return read.err
	}
	name, err := s.name(p, f, read.doc)
	if err != nil {
		return err
	}
	folder := p.called(f.own)
	if at, taken := s.taken[name]; s.kind == Skill && taken && at == f.place {
		name = folder // two folders say the same name: the second goes by its own
	}
	if _, taken := s.taken[name]; !taken {
		s.taken[name] = f.place
	}
	s.names[name] = true
	if s.only != "" && s.only != name && (s.kind != Skill || s.only != folder) {
		return nil
	}
	if other, taken := s.found[name]; taken {
		if other.place == f.place {
			return fmt.Errorf("%s is also named %s", other.Path, name)
		}
		return nil // that is how one puts one's own before others'
	}
	piece := Piece{
		Kind: s.kind, Name: name, Source: p.Source, Plugin: p.Plugin, Path: f.path(),
		Fields: read.doc.Fields, Body: read.doc.Body, Digest: read.digest,
	}
	if p.Plugin != "" {
		piece.PluginDir = p.Dir
	}
	if _, err := piece.Hooks(); err != nil {
		return err
	}
	if p.Source.InProject() {
		if ok, err := s.agreed(f, Claim{Kind: s.kind, Name: name, Path: f.path(), Text: text.Text, Runs: piece.runs(), Grants: piece.grants(), Hooks: len(piece.HookTexts()) > 0}); !ok {
			return err
		}
	}
	s.found[name] = found{piece, f.place}
	if _, taken := s.folders[folder]; s.kind == Skill && !taken {
		s.folders[folder] = name
	}
	return nil
}

// parse parses a text unless it is the one that was parsed before.
func (s *scan) parse(path, text string) parsed {
	if old, ok := s.docs[path]; ok && old.text == text {
		return old
	}
	sum := sha256.Sum256([]byte(text))
	p := parsed{text: text, digest: hex.EncodeToString(sum[:])}
	p.doc, p.err = frontmatter.Parse(text)
	s.docs[path] = p
	return p
}

// name returns what the piece is called. Commands are called by their file;
// others may say it themselves.
func (s *scan) name(p Place, f file, doc frontmatter.Document) (string, error) {
	name := f.own
	valid := ValidName
	if s.kind == Style {
		valid = validTitle
	}
	if said := doc.Fields.Text("name"); s.kind != Command && valid(said) {
		name = said
	}
	for part := range strings.SplitSeq(name, ":") {
		if !valid(part) {
			return "", fmt.Errorf("%q is not a valid name; use letters, digits, dashes and underscores", name)
		}
	}
	return p.called(name), nil
}

// agreed asks about a claim of the project, and keeps it if the answer is no.
func (s *scan) agreed(f file, c Claim) (bool, error) {
	if s.kind == Skill {
		var bound bool
		if c.Files, bound = f.belongings(); !bound {
			return false, fmt.Errorf("a folder with more than %d files or %d levels cannot be trusted", maxOwned, maxDepth)
		}
	}
	if s.trust != nil && s.trust(c) {
		return true, nil
	}
	s.held = append(s.held, c)
	return false, nil
}

// belongings returns the hashes of everything else in a skill's folder: a script
// that changes is as good as another skill.
func (f file) belongings() (sums map[string]string, complete bool) {
	folder := path.Dir(f.name)
	names, complete := f.Walk(folder, shelf.Bounds{Depth: maxDepth, Entries: maxOwned})
	sums = map[string]string{}
	left := int64(maxSum)
	for _, name := range names {
		if name == f.name {
			continue
		}
		sum, size, err := f.Sum(name, left)
		if err != nil {
			sum = err.Error()
		}
		left -= size
		sums[strings.TrimPrefix(name, folder+"/")] = sum
	}
	return sums, complete
}
