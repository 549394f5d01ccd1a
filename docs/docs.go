// Package docs holds the guides that 'haft help TOPIC' prints, because an installed
// program has no docs folder beside it.
package docs

import (
	"embed"
	"path"
	"slices"
	"strings"
)

//go:embed *.md zh/*.md
var pages embed.FS

// A Topic is one guide.
type Topic struct {
	Name  string // of its file, without ".md"
	Title string // its first heading
	Text  string // Markdown
}

// Topics returns every guide in English, sorted by name. Those in Chinese are found as
// "zh/preview".
func Topics() []Topic { return In("en") }

// In returns the guides for readers of a language, sorted by name: those in that language,
// and those that there are only in English.
func In(language string) []Topic {
	var out []Topic
	own := map[string]bool{"README": true} // a folder has one that lists the others
	for _, dir := range []string{language, "."} {
		files, _ := pages.ReadDir(dir) // there is no folder for English
		for _, f := range files {
			name := strings.TrimSuffix(f.Name(), ".md")
			t, ok := Find(path.Join(dir, name))
			if !ok || f.IsDir() || own[name] {
				continue
			}
			own[name] = true
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Find returns the guide of this name, or the first one of a folder of this name.
func Find(name string) (Topic, bool) {
	text, err := pages.ReadFile(name + ".md")
	if err != nil {
		text, err = pages.ReadFile(name + "/README.md")
	}
	if err != nil {
		return Topic{}, false
	}
	title, _, _ := strings.Cut(string(text), "\n")
	return Topic{Name: name, Title: strings.TrimPrefix(title, "# "), Text: string(text)}, true
}
