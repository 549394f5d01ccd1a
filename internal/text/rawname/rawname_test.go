package rawname_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/text/rawname"
)

func TestNamesGoThroughJSON(t *testing.T) {
	names := []string{"", "plain", "näme", "caf\xe9.txt", "\xff", "a\nb", "\uFFFD"}
	raw, err := json.Marshal(rawname.EncodeAll(names))
	if err != nil {
		t.Fatal(err)
	}
	var back []string
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(names, rawname.DecodeAll(back)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if names[3] != "caf\xe9.txt" {
		t.Error("the names of the caller were changed")
	}
}
