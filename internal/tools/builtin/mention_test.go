package builtin_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/tool"
)

// TestDescriptionsNameOnlyToolsThatAreThere takes tools away in every way that a session
// can lack one, and reads all that the model is told about the rest.
func TestDescriptionsNameOnlyToolsThatAreThere(t *testing.T) {
	all := everything(t).Tools()
	var names []string
	for _, a := range all {
		names = append(names, a.Name)
	}
	on := &tool.Session{Interactive: true, Flags: map[string]bool{bash.BackgroundFlag: true, "mcp": true, "web_search": true}}
	sets := map[string]*tool.Set{
		"bare":     tool.NewSet(on, all, nil, &tool.SetOptions{Only: builtin.Bare()}),
		"headless": tool.NewSet(&tool.Session{Flags: on.Flags}, all, nil, nil),
		"no flags": tool.NewSet(&tool.Session{}, all, nil, nil),
	}
	for _, name := range names {
		sets["without "+name] = tool.NewSet(on, all, nil, &tool.SetOptions{Denied: func(x *tool.Tool) bool { return x.Name == name }})
		sets["only "+name] = tool.NewSet(on, all, nil, &tool.SetOptions{Only: []string{name}})
	}
	for what, set := range sets {
		there := set.Session().Tools
		for _, x := range set.All() {
			text := x.Describe(set.Session()) + string(set.View(x).JSON())
			if x.Prompt != nil {
				text += x.Prompt(set.Session())
			}
			words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
			for _, name := range names {
				if slices.Contains(words, name) && !slices.Contains(there, name) {
					t.Errorf("%s: %s speaks of %s:\n%s", what, x.Name, name, text)
				}
			}
			if strings.TrimSpace(x.Describe(set.Session())) == "" {
				t.Errorf("%s: nothing is left of the description of %s", what, x.Name)
			}
		}
	}
}
