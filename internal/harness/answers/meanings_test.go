package answers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/test/golden"
)

func TestEverySettingHasAMeaning(t *testing.T) {
	known := map[string]bool{}
	for _, k := range settings.Knobs() {
		known[k.Key] = true
		if Meaning(nil, k) == "" {
			t.Errorf("%s has no meaning", k.Key)
		}
	}
	for key := range meanings {
		if !known[key] {
			t.Errorf("there is no setting %s", key)
		}
	}
}

// TestTheGuideListsTheSettings writes the table of the guide about settings.
func TestTheGuideListsTheSettings(t *testing.T) {
	var b strings.Builder
	b.WriteString("| setting | takes | what it does |\n|---|---|---|\n")
	for _, k := range settings.Knobs() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Key, Takes(nil, k), Meaning(nil, k))
	}
	golden.Part(t, "../../../docs/settings.md", "settings", b.String())
}
