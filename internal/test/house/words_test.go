package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// stopWords are words and turns of phrase that a reader stumbles over, with what to write
// instead. They are matched as whole words, in any case.
var stopWords = []struct{ pattern, instead string }{
	{`mend(s|ed|ing)?`, "fix: nobody mends a file"},
	{`anew`, "again, or a verb with re-"},
	{`(told|tells?|warned) of`, "report, or say what is said"},
	{`whoever`, "the caller, the user, the program: name it"},
	{`somebody|someone else`, "another program, the user: name it"},
	{`go(es)? on( with)?|going on( with)?|went on( with)?`, "continue"},
	{`(is|are) none of (its|ours|theirs|them)`, "is not one of"},
	{`and (it|there|%q|%s) (is|are) none`, "say what is missing, or that it is not one"},
	{`wholly`, "completely"},
	{`the person('s)?|a person('s)?`, "the user: one word for one concept"},
	{`what there is`, "the noun: the list, the tasks, usage"},
	{`otherwise than`, "differently from, or: has changed"},
	{`for want of`, "because there is no"},
	{`(be|can be) had( back)?`, "be restored, exist, be available"},
	{`counts? for nothing`, "does not count, is ignored"},
	{`slip of the pen`, "mistake"},
	{`stands? (in|under|there|before|behind|beside)`, "is in, is under"},
	{`such as it was left`, "as it was"},
	{`for ever`, "forever"},
	{`anybody`, "anyone, the user, another program: name it"},
	{`(it|that|which|answer|result|schema|source) is no (object|message|text|part|error|JSON)`, "is not a …"},
	{`go(es)? before (it|them|this|ask|allow|the others?)`, "takes precedence over, overrides"},
	{`what (becomes?|became) of`, "the outcome, what to do with"},
	{`draws? a (warning|remark)`, "causes a warning"},
	{`(those|all) there are`, "all, the available ones"},
	{`1 (calls|lines|files|agents|messages|changes)`, "the plural by the number"},
}

// allowedWords are places where a stop word is right, with the reason.
var allowedWords = map[string]string{
	"CODE_OF_CONDUCT.md: the person":               "it is about persons",
	"internal/tools/toolsearch/words.go: somebody": "a list of words to ignore in searches",
	"internal/cli/demo/crash.go: Go on":            "what a user types",
}

// TestPlainWords looks for stop words where people and models read: string literals of the
// product, Markdown, and the comments of packages that others import.
func TestPlainWords(t *testing.T) {
	words := compileStopWords()
	var findings []string
	add := func(file string, line int, text string) {
		for _, w := range words {
			for _, found := range w.FindAllString(text, -1) {
				if _, ok := allowedWords[file+": "+found]; !ok {
					findings = append(findings, fmt.Sprintf("%s:%d: %q: write %s", file, line, found, w.instead))
				}
			}
		}
	}
	for _, p := range allPackages(t) {
		for _, f := range p.files {
			literals(p.fset, f, func(line int, text string) {
				add(path.Join(p.dir, path.Base(p.fset.Position(f.Pos()).Filename)), line, text)
			})
			if strings.Contains("/"+p.dir+"/", "/internal/") || strings.HasPrefix(p.dir, "fleet") {
				continue
			}
			for _, c := range f.Comments {
				add(path.Join(p.dir, path.Base(p.fset.Position(f.Pos()).Filename)), p.fset.Position(c.Pos()).Line, c.Text())
			}
		}
	}
	for _, name := range textFiles(t) {
		if path.Ext(name) != ".md" || strings.Contains(name, "testdata/") || name == "CHANGELOG.md" || strings.HasPrefix(name, "docs/dev/decisions/") {
			continue
		}
		number := 0
		for line := range strings.Lines(readFile(t, name)) {
			number++
			add(name, number, line)
		}
	}
	report(t, findings, "Write what a native speaker would write. If the word is right in its place, put it into allowedWords with the reason.")
}

type stopWord struct {
	*regexp.Regexp
	instead string
}

func compileStopWords() (out []stopWord) {
	for _, w := range stopWords {
		out = append(out, stopWord{regexp.MustCompile(`(?i)\b(?:` + w.pattern + `)\b`), w.instead})
	}
	return out
}

// literals calls yield with each string of three words or more, which is prose.
func literals(fset *token.FileSet, f *ast.File, yield func(line int, text string)) {
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(lit.Value); err == nil && len(strings.Fields(text)) >= 3 {
			yield(fset.Position(lit.Pos()).Line, text)
		}
		return true
	})
}
