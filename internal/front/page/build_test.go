package page_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/front/page"
	"github.com/haftdev/haft/internal/test/golden"
)

// What the program has of the page is what the sources say. Run with -update after a change.
func TestThePageIsBuilt(t *testing.T) {
	joined, err := joinModules("app.js")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"app.js": joined, "style.css": source(t, "style.css")} {
		if built(t, os.DirFS("."), name) == want {
			if built(t, page.Files, name) != want {
				t.Errorf("%s.gz is not what this test was compiled with", name)
			}
			continue
		}
		if !golden.Updating() {
			t.Errorf("%s.gz is not made from the sources: run go test ./internal/front/page -run TestThePageIsBuilt -update", name)
			continue
		}
		if err := os.WriteFile(name+".gz", compressed(t, want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// built is the content of a compressed file, "" if there is none.
func built(t *testing.T, from fs.FS, name string) string {
	t.Helper()
	raw, err := fs.ReadFile(from, name+".gz")
	if err != nil {
		return ""
	}
	in, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return ""
	}
	return string(text)
}

func compressed(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

var imports = regexp.MustCompile(`(?m)^import \{[^}]*\} from "\./([\w.]+)";\n`)

// joinModules joins a module and what it imports, without comments and indentation. The modules
// of the page give every name once, so that they can share one scope.
func joinModules(name string) (string, error) {
	var out strings.Builder
	done := map[string]bool{}
	var add func(name string) error
	add = func(name string) error {
		if done[name] {
			return nil
		}
		done[name] = true
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, m := range imports.FindAllStringSubmatch(string(raw), -1) {
			if err := add(m[1]); err != nil {
				return err
			}
		}
		for line := range strings.Lines(imports.ReplaceAllString(string(raw), "")) {
			line = strings.TrimPrefix(strings.TrimLeft(line, "\t"), "export ")
			if line != "\n" && !strings.HasPrefix(line, "//") {
				out.WriteString(tight(line))
			}
		}
		return nil
	}
	err := add(name)
	return out.String(), err
}

// blanks are those around signs, and texts, which keep theirs.
var blanks = regexp.MustCompile(`"(?:[^"\\]|\\.)*"| *([-=+*<>!&|?:,;{}()\[\]]) *`)

// tight is a line without the blanks that say nothing. One with a template, a regular
// expression or two signs that would become another one stays as it is.
func tight(line string) string {
	if strings.ContainsAny(line, "`/'") || strings.Contains(line, "+ +") || strings.Contains(line, "- -") {
		return line
	}
	return blanks.ReplaceAllStringFunc(line, func(m string) string {
		if m[0] == '"' {
			return m
		}
		return strings.Trim(m, " ")
	})
}
