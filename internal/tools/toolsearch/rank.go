package toolsearch

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/haftdev/haft/tool"
)

// How much a word counts by where it stands.
const (
	inServer      = 6.0 // who names a server means one of its tools
	inName        = 4.0
	inHint        = 3.0
	inDescription = 1.0
	partly        = 0.5 // for a word that only begins like the wanted one
	alike         = 0.6 // for a word that means the same
)

// A document is a tool as a bag of words, each with the weight of its best place.
type document struct {
	tool  *tool.Tool
	words map[string]float64
	score float64

	matched int // how many terms it has
}

// rank returns the tools that match the query, best first. A rare word counts
// more than one that many tools have, and a tool that has all words more than one
// that has some of them at better places.
func rank(tools []*tool.Tool, s *tool.Session, query string) []*tool.Tool {
	wanted := terms(query)
	if len(wanted) == 0 {
		return nil
	}
	docs := make([]*document, len(tools))
	for i, t := range tools {
		docs[i] = newDocument(t, s)
	}
	for _, t := range wanted {
		docs = weigh(docs, t)
	}
	for _, d := range docs {
		d.score *= float64(d.matched) / float64(len(wanted))
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
	server, _ := strings.CutPrefix(t.Source, "mcp:")
	for place, weight := range map[string]float64{t.Describe(s): inDescription, t.SearchHint: inHint, t.Name: inName, server: inServer} {
		for _, w := range words(place) {
			w = stem(w)
			d.words[w] = max(d.words[w], weight)
		}
	}
	return d
}

// weigh adds what a term is worth to each document, and drops those without it if
// it is required.
func weigh(docs []*document, t term) []*document {
	weights := make([]float64, len(docs))
	having := 0
	for i, d := range docs {
		if weights[i] = d.weight(t); weights[i] > 0 {
			having++
		}
	}
	rarity := math.Log(1 + float64(len(docs))/float64(max(having, 1)))
	var left []*document
	for i, d := range docs {
		d.score += weights[i] * rarity
		if weights[i] > 0 {
			d.matched++
		}
		if weights[i] > 0 || !t.required {
			left = append(left, d)
		}
	}
	return left
}

// weight is how much the document is about a term.
func (d *document) weight(t term) float64 {
	best := d.about(t.word)
	for _, other := range t.others {
		best = max(best, alike*d.words[other])
	}
	return best
}

// about is how much the document is about a word.
func (d *document) about(word string) float64 {
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
