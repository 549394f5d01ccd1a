package shellrun

import (
	"slices"
	"testing"
)

func TestVariablesAreReplacedAndTakenOut(t *testing.T) {
	before := []string{"A=1", "B=2", "C=3=3", "BARE"}
	got := replaceAll(before, []string{"B=4", "A", "D=", "E=1", "E=2", "F=1", "F"})
	if want := []string{"C=3=3", "BARE", "B=4", "D=", "E=2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !slices.Equal(before, []string{"A=1", "B=2", "C=3=3", "BARE"}) {
		t.Errorf("it was changed in place: %q", before)
	}
}
