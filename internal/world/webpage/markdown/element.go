package markdown

import (
	"golang.org/x/net/html/atom"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// breaks are the elements that begin and end a line, and how many line breaks
// stand around them.
var breaks = map[atom.Atom]int{
	atom.P: 2, atom.Div: 2, atom.Section: 2, atom.Article: 2, atom.Main: 2, atom.Header: 2, atom.Footer: 2, atom.Nav: 2, atom.Aside: 2, atom.Figure: 2,
	atom.Figcaption: 2, atom.Dl: 2, atom.Form: 2, atom.Fieldset: 2, atom.Legend: 2, atom.Details: 2, atom.Summary: 2, atom.Address: 2,
	atom.Center: 2, atom.Noscript: 2, atom.Caption: 2, atom.Tr: 1, atom.Li: 1, atom.Thead: 1, atom.Tbody: 1, atom.Body: 2,
}

func longestRun(s string) (longest int) {
	run := 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// language is how pages mark the language of their code.
var language = lazyregexp.New(`(?:^|\s)(?:language-|lang-|highlight-source-|brush:\s*)([A-Za-z0-9_+#-]+)`)
