package edits

import (
	"bytes"
	"strings"

	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// match is a place where an old string stands, in decoded offsets.
type match struct{ start, end int }

// found is the outcome of looking for an old string.
type found struct {
	matches []match
	note    string // how it matched, when not exactly
	loose   bool   // by indentation: several matches are never what was meant
}

// find looks for old: exactly, then with any line endings, then under one uniform change of indentation. Each step is
// tried only when the one before found nothing.
func find(t *textfile.Text, old string) found {
	text := t.Bytes()
	if !strings.ContainsAny(old, "\r\n") || bytes.IndexByte(text, '\r') < 0 && !strings.Contains(old, "\r") {
		if ms := findExact(text, old); len(ms) > 0 {
			return found{matches: ms}
		}
	} else if ms := findAnyEnding(text, old); len(ms) > 0 {
		return found{matches: ms, note: endingNote(text, ms, old)}
	}
	ms, how := findIndented(text, old)
	return found{matches: ms, note: how, loose: true}
}

// findExact returns every match, overlapping ones included: "aa" stands twice in "aaa".
func findExact(text []byte, old string) []match {
	var out []match
	pat := []byte(old)
	for at := 0; ; {
		i := bytes.Index(text[at:], pat)
		if i < 0 {
			return out
		}
		out = append(out, match{at + i, at + i + len(pat)})
		at += i + 1
	}
}

// findAnyEnding finds old in the text with every line ending read as \n. It is the search of choice wherever endings
// could matter: what looks the same to the model must count as the same, or "once" would mean nothing.
func findAnyEnding(text []byte, old string) []match {
	plain := normalize(text)
	ms := findExact(plain, string(normalize([]byte(old))))
	if len(ms) == 0 || len(plain) == len(text) {
		return ms // nothing to translate: no \r\n, and a lone \r is as long as \n
	}
	bounds := make([]*int, 0, 2*len(ms))
	for i := range ms {
		bounds = append(bounds, &ms[i].start)
	}
	translate(text, bounds)
	bounds = bounds[:0]
	for i := range ms {
		bounds = append(bounds, &ms[i].end)
	}
	translate(text, bounds)
	return ms
}

// normalize writes \r\n as \n, and \r as \n where the text holds no \n.
func normalize(text []byte) []byte {
	if textfile.EOLOf(text) == textfile.CR {
		return bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
	}
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
}

// translate turns ascending offsets into the normalised text into offsets into text, in one pass.
func translate(text []byte, offsets []*int) {
	removed, at := 0, 0 // text[at:] is what has not been counted yet
	for _, off := range offsets {
		for {
			i := bytes.Index(text[at:], []byte("\r\n"))
			// The \n of this ending stands at at+i-removed in the normalised text.
			if i < 0 || at+i-removed >= *off {
				break
			}
			removed++
			at += i + 2
		}
		*off += removed
	}
}

// endingNote discloses matches whose endings are not those of old.
func endingNote(text []byte, ms []match, old string) string {
	for _, m := range ms {
		if string(text[m.start:m.end]) != old {
			return "old_string matched with the file's own line endings (" + string(textfile.EOLOf(text)) + "), which were kept."
		}
	}
	return ""
}

// apart drops matches that overlap an earlier one: what replacing all of them means.
func apart(ms []match) []match {
	var out []match
	for _, m := range ms {
		if len(out) == 0 || m.start >= out[len(out)-1].end {
			out = append(out, m)
		}
	}
	return out
}
