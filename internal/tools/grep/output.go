package grep

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/tools/scope"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/tool"
)

// callOutput is what programs get. Fields that do not belong to the mode are absent;
// totals are absent when the search stopped at its limit. A count of nothing is 0.
type callOutput struct {
	Mode          string   `json:"mode"`
	NumFiles      int      `json:"numFiles"`
	Filenames     []string `json:"filenames"`
	Content       string   `json:"content,omitempty"`
	NumLines      *int     `json:"numLines,omitempty"`
	NumMatches    *int     `json:"numMatches,omitempty"`
	TotalFiles    *int     `json:"totalFiles,omitempty"`
	TotalLines    *int     `json:"totalLines,omitempty"`
	AppliedLimit  int      `json:"appliedLimit,omitempty"`
	AppliedOffset int      `json:"appliedOffset,omitempty"`
	// Note says what was searched and what was left out, when that matters.
	Note string `json:"note,omitempty"`
	// Doubtful are some of the files whose encoding is a guess, if text beyond ASCII was looked for.
	Doubtful []string `json:"doubtful,omitempty"`
}

// output is the result in the words of the protocol, cut to offset and limit.
func output(at scope.Scope, in callInput, r *search.Result) callOutput {
	out := callOutput{Mode: in.OutputMode, Filenames: []string{}, AppliedOffset: in.Offset}
	if out.Mode == "" {
		out.Mode = "files_with_matches"
	}
	known := !r.More && r.Partial == ""
	if out.Mode == "content" {
		out.content(at, in, r, known)
	} else {
		out.files(at, in, r, known)
	}
	if names := r.Stats.Doubtful; len(names) > 0 && beyondASCII(in.Pattern) {
		out.Doubtful = doubtful(at, names)
	}
	if out.AppliedLimit == 0 { // who asks for few gets no explanation for few
		out.Note = at.Note(max(value(out.NumLines), out.NumFiles), r.Stats, r.Partial)
	}
	return out
}

// beyondASCII reports whether a pattern holds text that encodings write differently.
func beyondASCII(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// doubtful names a few files, in order.
func doubtful(at scope.Scope, paths []string) (names []string) {
	const most = 10
	slices.Sort(paths)
	for _, p := range paths[:min(len(paths), most)] {
		names = append(names, at.Show(p))
	}
	return names
}

// value is a count, 0 where the mode has none.
func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// files fills in the two modes whose results are files.
func (o *callOutput) files(at scope.Scope, in callInput, r *search.Result, known bool) {
	hits := r.Hits[min(in.Offset, len(r.Hits)):]
	if limit := in.limit(); limit > 0 && len(hits) > limit {
		hits, o.AppliedLimit = hits[:limit], limit
	}
	if known {
		o.TotalFiles = new(len(r.Hits))
	}
	o.NumFiles = len(hits)
	matches := 0
	var lines []string
	for _, h := range hits {
		name := at.Show(h.Path)
		if o.Mode == "count" {
			matches += h.Count
			lines = append(lines, fmt.Sprintf("%s:%d", name, h.Count))
		} else {
			o.Filenames = append(o.Filenames, name)
		}
	}
	if o.Mode == "count" {
		o.NumMatches = &matches
	}
	o.Content = strings.Join(lines, "\n")
}

// content fills in the mode whose results are lines.
func (o *callOutput) content(at scope.Scope, in callInput, r *search.Result, known bool) {
	lines := format(at, in, r)
	if known {
		o.TotalLines, o.TotalFiles = new(len(lines)), new(len(r.Hits))
	}
	lines = lines[min(in.Offset, len(lines)):]
	if limit := in.limit(); limit > 0 && len(lines) > limit {
		lines, o.AppliedLimit = lines[:limit], limit
	}
	shown := map[string]bool{}
	var text []string
	for i, l := range lines {
		if i > 0 && l.first {
			text = append(text, "--")
		}
		text = append(text, l.text)
		shown[l.file] = true
	}
	o.Content, o.NumLines, o.NumFiles = strings.Join(text, "\n"), new(len(lines)), len(shown)
}

// line is one line of output. first marks the start of a group that does not follow
// on the one before.
type line struct {
	file, text string
	first      bool
}

func format(at scope.Scope, in callInput, r *search.Result) []line {
	var out []line
	numbers := in.LineNumbers == nil || *in.LineNumbers
	grouped := in.Before+in.After+in.Around+in.Context > 0
	for _, h := range r.Hits {
		name := at.Show(h.Path)
		if h.Binary {
			out = append(out, line{file: h.Path, text: name + ": binary file matches"})
		}
		for i, l := range h.Lines {
			sep := "-"
			if l.Match {
				sep = ":"
			}
			text := name + sep + l.Text
			if numbers {
				text = fmt.Sprintf("%s%s%d%s%s", name, sep, l.Number, sep, l.Text)
			}
			first := grouped && (i == 0 || l.Number != h.Lines[i-1].Number+1)
			out = append(out, line{h.Path, text, first})
		}
	}
	return out
}

// render is the output as the model reads it.
func render(o callOutput) tool.Result {
	var b strings.Builder
	switch {
	case o.NumFiles == 0 && o.AppliedOffset > 0:
		b.WriteString("No results at or after this offset.")
	case o.NumFiles == 0 && o.Mode == "files_with_matches":
		b.WriteString("No files found.")
	case o.NumFiles == 0:
		b.WriteString("No matches found.")
	case o.Mode == "files_with_matches":
		fmt.Fprintf(&b, "Found %s\n%s", plural.Of(o.NumFiles, "file"), strings.Join(o.Filenames, "\n"))
	default:
		b.WriteString(o.Content)
	}
	if o.Mode == "count" && o.NumFiles > 0 {
		fmt.Fprintf(&b, "\n\nFound %s in %s.", plural.Of(value(o.NumMatches), "match"), plural.Of(o.NumFiles, "file"))
	}
	if o.AppliedLimit > 0 {
		fmt.Fprintf(&b, "\n\n[There are more results. To see them, set offset to %d.]", o.AppliedOffset+o.AppliedLimit)
	}
	if o.Note != "" {
		b.WriteString("\n\n[" + o.Note + "]")
	}
	if len(o.Doubtful) > 0 {
		fmt.Fprintf(&b, "\n\n[Encoding uncertain, so matches may be missing: %s. Call Read with encoding to look at one.]", strings.Join(o.Doubtful, ", "))
	}
	return tool.Text(b.String())
}
