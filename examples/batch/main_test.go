package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/embed"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/script"
)

// Each answer costs 40 cents: of six, four fit into two dollars, one meets the end of the budget, and one is not asked.
func TestBatch(t *testing.T) {
	srv, err := scripttest.Serve(t, &script.Options{Answer: func(*script.Request) script.Turn {
		return script.Turn{Blocks: []script.Block{{Text: "Done."}}, Usage: &model.Usage{Output: 20_000}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	t.Setenv("ANTHROPIC_BASE_URL", srv.URL())
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-scripted")
	t.Setenv("HOME", t.TempDir())
	var out strings.Builder
	batch(t.Context(), strings.NewReader("a\nb\nc\nd\ne\nf\n"), &out, 2, 1, 4, haft.Options{Transport: embed.New(nil), Dir: t.TempDir(), Model: "opus", NoPersistence: true})
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	var ends []string
	for _, line := range lines {
		_, end, _ := strings.Cut(line, ": ")
		ends = append(ends, end)
	}
	slices.Sort(ends)
	const met = "failed: the agent ended with error_max_budget_usd: Reached maximum budget ($0.4): spent $0.4000"
	if diff := cmp.Diff([]string{"", "Done.", "Done.", "Done.", "Done.", met, "not asked: the budget is spent"}, ends); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, out.String())
	}
	if last := lines[len(lines)-1]; last != "spent $2.00 of $2.00" {
		t.Error(last)
	}
}
