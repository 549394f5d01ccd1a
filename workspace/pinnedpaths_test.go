//go:build linux

package workspace

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

// A path is pinned for one call: what leads elsewhere when that call runs is refused,
// and other calls are not held to it.
func TestAPinHoldsOneCallToWhereItsPathLed(t *testing.T) {
	b := newBench(t, map[string]string{"one": "1", "two": "2"})
	must(t, os.Symlink("one", b.path("link")))
	b.Pin("first", b.Look(b.path("link")))
	b.Pin("first", b.Look(b.path("one")))
	if f, err := b.LookPinned("first", b.path("link")); err != nil || f.Real != b.path("one") {
		t.Errorf("unchanged: %s, %v", f.Real, err)
	}
	must(t, os.Remove(b.path("link")))
	must(t, os.Symlink("two", b.path("link")))
	var refused *Refusal
	if _, err := b.LookPinned("first", b.path("link")); !errors.As(err, &refused) || refused.Code != Swapped {
		t.Errorf("the link was changed: %v", err)
	}
	if _, err := b.LookPinned("second", b.path("link")); err != nil {
		t.Errorf("another call: %v", err)
	}
	for i := range maxPins { // forgotten in their order, and not without end
		b.Pin(fmt.Sprint(i), b.Look(b.path("one")))
	}
	if _, err := b.LookPinned("first", b.path("link")); err != nil || len(b.pins.real) > maxPins || len(b.pins.order) > maxPins {
		t.Errorf("%d pins are kept, the first one too: %v", len(b.pins.order), err)
	}
}
