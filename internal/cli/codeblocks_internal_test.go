package cli

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/config/settings"
)

// unchecked are the languages of code blocks that no test reads, each with the reason.
var unchecked = map[string]string{
	"text":     "output, a drawing or a dialogue",
	"markdown": "a file for the model; the tests of packages knowledge and commandtool read such files",
	"lua":      "settings of an editor, which is not installed here",
	"elisp":    "settings of an editor, which is not installed here",
	"conf":     "settings of another program",
	"python":   "a program for the Python SDK, which is not installed here; TestPythonSDKCases sends what it sends",
}

// A codeBlock is a block of code in a guide.
type codeBlock struct{ where, language, text string }

var fence = regexp.MustCompile("^ *```(\\w*)")

// codeBlocks returns what a page has in fences, and what is indented after an empty line. Of the latter the language
// is sh, unless it begins as JSON does.
func codeBlocks(where, page string) (blocks []codeBlock) {
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		var body []string
		if m := fence.FindStringSubmatch(lines[i]); m != nil {
			for i++; !fence.MatchString(lines[i]); i++ {
				body = append(body, lines[i])
			}
			blocks = append(blocks, codeBlock{where, m[1], strings.Join(body, "\n")})
			continue
		}
		if !strings.HasPrefix(lines[i], "    ") || i == 0 || lines[i-1] != "" {
			continue
		}
		for ; i < len(lines) && (lines[i] == "" || strings.HasPrefix(lines[i], "    ")); i++ {
			body = append(body, strings.TrimPrefix(lines[i], "    "))
		}
		language := "sh"
		switch body[0][0] {
		case '{':
			language = "json"
		case '$':
			language = "console"
		}
		blocks = append(blocks, codeBlock{where, language, strings.Join(body, "\n")})
	}
	return blocks
}

// TestCodeOfTheGuides checks every block of code in README and the guides: shell commands are parsed and those of
// haft have the commands and flags that they name, JSON is valid and, if it is a settings file, without a fault, and
// Go is part of a file that is compiled.
func TestCodeOfTheGuides(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"../../docs/dev/*.md", "../../docs/zh/*.md", "../../README.md", "../../CONTRIBUTING.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, more...)
	}
	compiled := compiledCode(t)
	start, err := os.ReadFile("../test/interop/start.mjs")
	if err != nil {
		t.Fatal(err)
	}
	program := string(start)
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range codeBlocks(page, string(text)) {
			checked++
			switch b.language {
			case "sh", "console":
				b.checkShell(t)
			case "json":
				b.checkJSON(t)
			case "js":
				if !strings.Contains(program, b.text) {
					t.Errorf("%s: internal/test/interop/start.mjs, which is run, does not have this code:\n%s", b.where, b.text)
				}
			case "go":
				if slices.ContainsFunc(strings.Split(b.text, "…"), func(part string) bool { return !strings.Contains(compiled, squeezed(part)) }) {
					t.Errorf("%s: no compiled file has this code:\n%s", b.where, b.text)
				}
			default:
				if unchecked[b.language] == "" {
					t.Errorf("%s: no test knows the language %q of this block:\n%s", b.where, b.language, b.text)
				}
			}
		}
	}
	if checked < 150 {
		t.Errorf("only %d blocks were found", checked)
	}
}

// placeholder is what a reader replaces by a word of their own.
var placeholder = regexp.MustCompile(`<[a-z][a-z -]*>|…`)

func (b codeBlock) checkShell(t *testing.T) {
	t.Helper()
	text := b.text
	if b.language == "console" {
		var commands strings.Builder
		goesOn := false
		for line := range strings.Lines(text) {
			c, begins := strings.CutPrefix(line, "$ ")
			if begins || goesOn {
				commands.WriteString(c)
				goesOn = strings.HasSuffix(c, "\\\n") || strings.HasSuffix(c, "|\n")
			}
		}
		text = commands.String()
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(placeholder.ReplaceAllString(text, "x")), "")
	if err != nil {
		t.Errorf("%s: %v in\n%s", b.where, err, text)
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "haft" {
			return true
		}
		var words []string
		for _, w := range call.Args[1:] {
			word := w.Lit()
			if word == "" {
				word = "''" // a quoted one is no flag and no command
			}
			words = append(words, word)
		}
		if problem := misnames(strings.Join(words, " ")); problem != "" {
			t.Errorf("%s: haft %s: %s", b.where, strings.Join(words, " "), problem)
		}
		return true
	})
}

func (b codeBlock) checkJSON(t *testing.T) {
	t.Helper()
	text := strings.ReplaceAll(b.text, "…", "x")
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		var list []json.RawMessage
		if json.Unmarshal([]byte(text), &list) != nil && !eachLineIsJSON(text) {
			t.Errorf("%s: %v in\n%s", b.where, err, b.text)
		}
		return
	}
	f, err := settings.Parse(settings.User, "settings.json", []byte(text))
	if err != nil {
		t.Errorf("%s: %v in\n%s", b.where, err, b.text)
		return
	}
	// Of another file, such as an agent's or an editor's, no key is known.
	problems := settings.Of(f).Problems()
	unknown := 0
	for _, p := range problems {
		if strings.Contains(p.String(), "is not a known key") {
			unknown++
		}
	}
	if unknown >= len(object) {
		return
	}
	for _, p := range problems {
		t.Errorf("%s: %v in\n%s", b.where, p, b.text)
	}
}

func eachLineIsJSON(text string) bool {
	for line := range strings.Lines(text) {
		if !json.Valid([]byte(line)) {
			return false
		}
	}
	return true
}

// squeezed makes code comparable whatever its indentation.
func squeezed(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return strings.TrimSpace(b.String())
}

// compiledCode is the code of every file that go vet compiles.
func compiledCode(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go"):
			text, err := os.ReadFile(path)
			all.WriteString(squeezed(string(text)) + "\n")
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
