package tool_test

import (
	"testing"

	"github.com/haftdev/haft/tool"
)

// What a description says about tools that are not there is left out: whole sentences, lines, and
// clauses after a semicolon.
func TestDescriptionsDoNotNameWhatIsMissing(t *testing.T) {
	for text, want := range map[string]string{
		"Reads. Use Gone to write.": "Reads.",
		"Use Gone to write. Reads.": "Reads.",
		"Gone":                      "",
		"Gone.\nReads.":             "Reads.",
		"Reads.\n\n- Gone writes.\n- Here reads.":        "Reads.\n\n- Here reads.",
		"- Gone writes. Here reads.":                     "- Here reads.",
		"Here reads; Gone writes; it is quick.":          "Here reads; it is quick.",
		"Gone writes; it is quick.":                      "",
		"Files, e.g. those of Gone. Here reads.":         "Here reads.",
		"A file v1.2 of gone, Gonet and Gone_2. It ends": "A file v1.2 of gone, Gonet and Gone_2. It ends",
		"As `Here`. `Gone` writes. \"Here\" reads:":      "As `Here`. \"Here\" reads:",
		"Goneä and äGone. Nothing":                       "Goneä and äGone. Nothing",
		"The end is Gone":                                "",
	} {
		here, gone := named("Here", func(d *tool.Def[empty, string]) { d.Description = text }), named("Gone")
		s := tool.NewSet(nil, []tool.Tool{here, gone}, nil, &tool.SetOptions{Only: []string{"Here"}})
		if got := s.Description(s.Lookup("Here")); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
