package search

import (
	"time"

	"github.com/haftdev/haft/internal/world/search/tree"
)

// Mode says what a [Query] asks for.
type Mode uint8

const (
	Files   Mode = iota // which files match
	Content             // which lines match
	Count               // how many lines of each file match
)

// Query is a search for a pattern in files.
type Query struct {
	// Pattern is a regular expression in ripgrep's syntax, see package rx.
	Pattern string
	// Dir is the absolute working directory: the tree that is kept between queries, and the
	// base of globs with a slash.
	Dir string
	// Path is the file or directory to search, absolute; empty means Dir. It is
	// searched even if ignore rules hide it.
	Path string
	// Globs select files by name as ripgrep's --glob does: the last match decides, ! excludes,
	// a glob without a slash matches at any depth, and a glob that matches an ignored file
	// includes it.
	Globs []string
	// Types select files by language; see package filetype.
	Types []string
	// Mode says what to find; the zero value is Files.
	Mode Mode
	// IgnoreCase ignores the case of letters.
	IgnoreCase bool
	// Multiline lets matches span lines.
	Multiline bool
	// OnlyMatching returns only the matching parts of lines, each as a line of its own.
	OnlyMatching bool
	// Before and After are the numbers of context lines in Content mode.
	Before, After int
	// Limit ends the search after this many results (files, or lines in Content mode); zero
	// means no limit.
	Limit int
	// Allow decides which files may be read at all; nil means all. A file that is
	// not allowed is neither searched nor named. It must be safe for concurrent use.
	Allow func(path string) bool
	// Budget limits the cost; the zero value is the default.
	Budget Budget
}

// Budget limits the cost of a query. When it runs out, the result holds what was found until
// then and says so.
type Budget struct {
	Time  time.Duration // zero means 60 s
	Files int           // files looked at; zero means 2,000,000
	Bytes int64         // of text read; zero means no limit
}

func (b Budget) withDefaults() Budget {
	if b.Time <= 0 {
		b.Time = defaultTime
	}
	if b.Files <= 0 {
		b.Files = defaultFiles
	}
	return b
}

// Result is the answer to a [Query].
type Result struct {
	Hits []Hit // newest file first
	// More means that the search ended at Query.Limit: there may be more results.
	More bool
	// Partial names the part of the budget that ran out; empty if none did.
	Partial string
	Stats   Stats
}

// Hit is a file that matches.
type Hit struct {
	Path  string
	Mtime int64 // nanoseconds
	// Count is the number of matching lines, or of matches in multi-line mode. In Files mode
	// it is 1.
	Count int
	// Lines holds matching and context lines in order, in Content mode.
	Lines []Line
	// Binary means that the file was named explicitly and matches but is not text. Lines is
	// then empty.
	Binary bool

	cut bool // the search of this file ended at the limit
}

// Line is one line of a file.
type Line struct {
	Number int    // from 1
	Text   string // without its line break, shortened if very long
	Match  bool   // false for context
}

// Stats says what a query covered and what it left out.
type Stats struct {
	Scanned    int   // files considered: read, or known not to match
	Bytes      int64 // read
	Binary     int   // not text
	TooLarge   int
	Unreadable int
	Denied     int // by Query.Allow
	// Doubtful lists some of the files whose encoding is a guess: non-ASCII text may not be
	// found in them.
	Doubtful []string
	Tree     tree.Skipped
}

func (s *Stats) add(o Stats) {
	s.Bytes += o.Bytes
	s.Binary += o.Binary
	s.Denied += o.Denied
	s.TooLarge += o.TooLarge
	s.Unreadable += o.Unreadable
	s.Doubtful = append(s.Doubtful, o.Doubtful...)
}

const (
	defaultTime  = 60 * time.Second
	defaultFiles = 2_000_000
)
