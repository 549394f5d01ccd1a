package builtin_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/mcpresource"
	"github.com/haftdev/haft/internal/tools/websearch"
	"github.com/haftdev/haft/tool"
)

// A fieldSchema is what is compared of a schema.
type fieldSchema struct {
	Type       any                    `json:"type"`
	Enum       []any                  `json:"enum"`
	Const      any                    `json:"const"`
	AnyOf      []fieldSchema          `json:"anyOf"`
	Required   []string               `json:"required"`
	Properties map[string]fieldSchema `json:"properties"`
	Items      *fieldSchema           `json:"items"`
}

// TestSchemasAreThoseOfTheReference compares the input of every tool that both have, field by field, with what the
// reference sends. Each difference has its reason in a row of bench/compared.md, and each row is a difference.
func TestSchemasAreThoseOfTheReference(t *testing.T) {
	raw, err := os.ReadFile("testdata/reference-tools.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct{ Tools map[string]fieldSchema }
	if err := json.Unmarshal(raw, &recorded); err != nil {
		t.Fatal(err)
	}
	session := &tool.Session{Interactive: true, Flags: map[string]bool{bash.BackgroundFlag: true, mcpresource.Flag: true}}
	world := everything(t)
	world.SearchWeb = func(context.Context, websearch.Query) ([]websearch.Hit, error) { return nil, nil }
	set := tool.NewSet(session, world.Tools(), nil, nil)
	want := documented(t)
	var got []string
	for _, name := range slices.Sorted(maps.Keys(recorded.Tools)) {
		ours := set.Lookup(name)
		if ours == nil {
			continue // only what both have is compared
		}
		var s fieldSchema
		if err := json.Unmarshal(set.View(ours).JSON(), &s); err != nil {
			t.Fatal(err)
		}
		label := name
		if ours.Name != name {
			label = ours.Name + " (" + name + " in Claude Code)"
		}
		rows := differences(label, "", s, recorded.Tools[name])
		if other := label + " | all fields | another tool"; len(rows) > 0 && slices.Contains(want, other) {
			rows = []string{other}
		}
		got = append(got, rows...)
	}
	slices.SortStableFunc(got, func(a, b string) int { // by haft's name
		a, _, _ = strings.Cut(a, " ")
		b, _, _ = strings.Cut(b, " ")
		return strings.Compare(a, b)
	})
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("bench/compared.md does not have the differences to the reference (-documented +found):\n%s", d)
	}
}

// differences are those of an object's fields, as rows without their reason.
func differences(name, path string, ours, theirs fieldSchema) (rows []string) {
	for _, field := range slices.Sorted(maps.Keys(merged(ours.Properties, theirs.Properties))) {
		mine, haft := ours.Properties[field]
		other, reference := theirs.Properties[field]
		add := func(what string) { rows = append(rows, fmt.Sprintf("%s | `%s%s` | %s", name, path, field, what)) }
		switch {
		case !reference:
			add("only haft")
			continue
		case !haft:
			add("only Claude Code")
			continue
		}
		if a, b := typeOf(mine), typeOf(other); a != b {
			add(a + "; Claude Code: " + b)
		}
		if a, b := slices.Contains(ours.Required, field), slices.Contains(theirs.Required, field); a != b {
			add(map[bool]string{true: "required; Claude Code: optional", false: "optional; Claude Code: required"}[a])
		}
		rows = append(rows, differences(name, path+field+".", element(mine), element(other))...)
	}
	return rows
}

// element is what an array is made of, or the schema itself.
func element(s fieldSchema) fieldSchema {
	if s.Items != nil {
		return *s.Items
	}
	return s
}

func merged(a, b map[string]fieldSchema) map[string]fieldSchema {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]fieldSchema{}
	}
	maps.Copy(all, b)
	return all
}

// typeOf is the values that a field takes, or its type if there are too many to list. A whole number is a number.
func typeOf(s fieldSchema) string {
	name := fmt.Sprint(s.Type)
	if name == "integer" {
		name = "number"
	}
	values := slices.Clone(s.Enum)
	for _, one := range s.AnyOf {
		name = cmp.Or(strings.Trim(name, "<nil>"), fmt.Sprint(one.Type))
		values = append(values, one.Enum...)
		if one.Const != nil {
			values = append(values, one.Const)
		}
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = fmt.Sprintf("`%v`", v)
	}
	switch last := len(quoted) - 1; last {
	case -1:
		return "any " + name
	case 0:
		return "only " + quoted[0]
	default:
		return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
	}
}

// documented are the rows of the table in bench/compared.md, each with a reason.
func documented(t *testing.T) (rows []string) {
	t.Helper()
	raw, err := os.ReadFile("../../../bench/compared.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(raw), "\n## Tools\n")
	if !ok {
		t.Fatal("bench/compared.md has no such section")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| tool") {
			continue
		}
		if len(cells) != 4 || strings.TrimSpace(cells[3]) == "" {
			t.Errorf("a row without a reason: %s", line)
			continue
		}
		rows = append(rows, fmt.Sprintf("%s | %s | %s", strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])))
	}
	return rows
}
