package toolsearch

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/haftdev/haft/tool"
)

// How much a word counts by where it stands.
const (
	inName        = 4.0
	inHint        = 3.0
	inDescription = 1.0
	partly        = 0.5 // for a word that only begins like the wanted one
)

// A document is a tool as a bag of words, each with the weight of its best place.
type document struct {
	tool  *tool.Tool
	words map[string]float64
	score float64
}

// rank returns the tools that match the query, best first. A rare word counts
// more than one that many tools have.
func rank(tools []*tool.Tool, s *tool.Session, query string) []*tool.Tool {
	docs := make([]*document, len(tools))
	for i, t := range tools {
		docs[i] = newDocument(t, s)
	}
	for term := range strings.FieldsSeq(query) {
		word, required := strings.CutPrefix(term, "+")
		for _, part := range words(word) {
			docs = weigh(docs, part, required)
		}
	}
	docs = slices.DeleteFunc(docs, func(d *document) bool { return d.score == 0 })
	slices.SortStableFunc(docs, func(a, b *document) int { return cmp.Compare(b.score, a.score) })
	found := make([]*tool.Tool, len(docs))
	for i, d := range docs {
		found[i] = d.tool
	}
	return found
}

func newDocument(t *tool.Tool, s *tool.Session) *document {
	d := &document{tool: t, words: make(map[string]float64)}
	for place, weight := range map[string]float64{t.Describe(s): inDescription, t.SearchHint: inHint, t.Name: inName} {
		for _, w := range words(place) {
			d.words[w] = max(d.words[w], weight)
		}
	}
	return d
}

// weigh adds what a word is worth to each document, and drops those without it
// if it is required.
func weigh(docs []*document, word string, required bool) []*document {
	weights := make([]float64, len(docs))
	having := 0
	for i, d := range docs {
		if weights[i] = d.weight(word); weights[i] > 0 {
			having++
		}
	}
	rarity := math.Log(1 + float64(len(docs))/float64(max(having, 1)))
	var left []*document
	for i, d := range docs {
		d.score += weights[i] * rarity
		if weights[i] > 0 || !required {
			left = append(left, d)
		}
	}
	return left
}

// weight is how much the document is about a word.
func (d *document) weight(word string) float64 {
	if w := d.words[word]; w > 0 {
		return w
	}
	best := 0.0
	if len(word) >= 3 {
		for have, w := range d.words {
			if len(have) >= 3 && (strings.HasPrefix(have, word) || strings.HasPrefix(word, have)) {
				best = max(best, w*partly)
			}
		}
	}
	return best
}

// words splits text, and names such as mcp__github__listIssues, into lower-case words.
func words(s string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r) && len(word) > 0 && unicode.IsLower(word[len(word)-1]):
			flush()
		}
		word = append(word, r)
	}
	flush()
	return out
}
