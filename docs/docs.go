// Package docs holds the guides that 'haft help TOPIC' prints, because an installed
// program has no docs folder beside it.
package docs

import (
	"embed"
	"path"
	"slices"
	"strings"
)

//go:embed *.md dev/*.md zh/*.md
var pages embed.FS

// A Topic is one guide.
type Topic struct {
	Name  string // of its file, without ".md"
	Title string // its first heading
	Text  string // Markdown
}

// A Group holds the guides for readers who want the same.
type Group struct {
	Name   string // use, build, operate or change
	Topics []Topic
}

// groups lists every guide, in the order in which a newcomer reads them.
var groups = []struct {
	name   string
	topics []string
}{
	{"use", []string{"first-hour", "install", "terminal", "cli", "models", "settings", "permissions", "preview", "sandbox", "sessions",
		"skills", "agents", "hooks", "mcp", "tools", "acp", "serve", "cookbook", "troubleshooting", "comparison", "migrate"}},
	{"build", []string{"sdk", "write-tools", "agent", "wire"}},
	{"operate", []string{"fleet", "fleet-runbook", "threat-model", "platforms", "reference", "rough-edges"}},
	{"change", []string{"architecture", "glossary", "dependencies", "fail-closed", "release"}},
}

// Topics returns every guide in English.
func Topics() []Topic {
	var out []Topic
	for _, g := range Groups("en") {
		out = append(out, g.Topics...)
	}
	return out
}

// Groups returns the guides for readers of a language: those in that language, and the others in English.
// A guide that only that language has comes first.
func Groups(language string) []Group {
	var out []Group
	for _, g := range groups {
		found := Group{Name: g.name}
		for _, name := range g.topics {
			t, ok := Find(path.Join(language, name))
			if !ok {
				t, ok = Find(name)
			}
			if ok {
				found.Topics = append(found.Topics, t)
			}
		}
		out = append(out, found)
	}
	listed := func(name string) bool {
		return slices.ContainsFunc(groups, func(g struct {
			name   string
			topics []string
		}) bool {
			return slices.Contains(g.topics, name)
		})
	}
	files, _ := pages.ReadDir(language) // there is no folder for English
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".md"); name != "README" && !listed(name) {
			t, _ := Find(path.Join(language, name))
			out[0].Topics = slices.Insert(out[0].Topics, 0, t)
		}
	}
	return out
}

// Find returns the guide of this name, or the first one of a folder of this name.
func Find(name string) (Topic, bool) {
	for _, file := range []string{name + ".md", path.Join("dev", name+".md"), path.Join(name, "README.md")} {
		text, err := pages.ReadFile(file)
		if err != nil {
			continue
		}
		title, _, _ := strings.Cut(string(text), "\n")
		return Topic{Name: name, Title: strings.TrimPrefix(title, "# "), Text: string(text)}, true
	}
	return Topic{}, false
}
