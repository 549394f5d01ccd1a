package servers

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/world/mcp"
)

// asked is a server that says what it was asked.
type asked struct{ t *testing.T }

func (a asked) Complete(_ context.Context, c mcp.Completion) ([]string, bool, error) {
	if c.Template != "db://{table}/rows/{id}" || c.Server != "hub" {
		a.t.Errorf("asked %+v", c)
	}
	if c.Argument == "table" {
		return []string{"users", "uses"}, false, nil
	}
	return []string{c.Others["table"] + "-1"}, false, nil
}

func TestTheVariablesOfATemplateAreCompleted(t *testing.T) {
	r := mcp.Resource{Server: "hub", URI: "db://{table}/rows/{id}", Template: true}
	for typed, want := range map[string][]string{
		"":                 {"db://"},
		"db":               {"db://"},
		"db://us":          {"db://users/rows/", "db://uses/rows/"},
		"db://users/rows/": {"db://users/rows/users-1"},
		"http://":          nil,
	} {
		if d := cmp.Diff(want, fill(t.Context(), asked{t}, r, typed)); d != "" {
			t.Errorf("%q: %s", typed, d)
		}
	}
}
