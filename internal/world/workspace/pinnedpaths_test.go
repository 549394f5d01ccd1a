//go:build linux

package workspace

import (
	"errors"
	"fmt"
	"os"
	"syscall"
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
	must(t, os.MkdirAll(b.path("a/in"), 0o755)) // the .. after a link is what the link makes it
	must(t, os.MkdirAll(b.path("b/in"), 0o755))
	must(t, os.Symlink("a/in", b.path("up")))
	b.Pin("first", b.Look(b.path("")+"/up/../x"))
	must(t, os.Remove(b.path("up")))
	must(t, os.Symlink("b/in", b.path("up")))
	if _, err := b.LookPinned("first", b.path("")+"/up/../x"); !errors.As(err, &refused) || refused.Code != Swapped {
		t.Errorf("the link before .. was changed: %v", err)
	}
	for i := range maxPins { // forgotten in their order, and not without end
		b.Pin(fmt.Sprint(i), b.Look(b.path("one")))
	}
	if _, err := b.LookPinned("first", b.path("link")); err != nil || len(b.pins.facts) > maxPins || len(b.pins.order) > maxPins {
		t.Errorf("%d pins are kept, the first one too: %v", len(b.pins.order), err)
	}
}

// A file is opened as it was judged, without another look; what was put in its place since is refused, whichever part of its
// path that is.
func TestWhatWasJudgedIsOpened(t *testing.T) {
	for name, swap := range map[string]func(b *bench){
		"the file": func(b *bench) {
			must(t, os.Remove(b.path("dir/one")))
			must(t, os.Symlink(b.path("secret"), b.path("dir/one")))
		},
		"its folder": func(b *bench) {
			must(t, os.Rename(b.path("dir"), b.path("moved")))
			must(t, os.Symlink(b.path("other"), b.path("dir")))
		},
		"a pipe": func(b *bench) {
			must(t, os.Remove(b.path("dir/one")))
			must(t, syscall.Mkfifo(b.path("dir/one"), 0o600))
		},
	} {
		b := newBench(t, map[string]string{"dir/one": "1", "secret": "2", "other/one": "3"})
		path := b.path("dir/one")
		b.Pin("call", b.Look(path))
		f, file, info, err := b.StreamPinned("call", path, "file_path")
		if err != nil || f.Real != path || info.Size != 1 {
			t.Fatalf("unchanged: %+v, %v", f, err)
		}
		must(t, file.Close())
		swap(b)
		var refused *Refusal
		if _, _, _, err := b.StreamPinned("call", path, "file_path"); !errors.As(err, &refused) || refused.Code != Swapped && refused.Code != NotAFile {
			t.Errorf("%s was replaced: %v", name, err)
		}
	}
}

// What was not judged, or was not a plain file then, is looked at.
func TestWhatWasNotJudgedIsLookedAt(t *testing.T) {
	b := newBench(t, map[string]string{"one": "1"})
	must(t, os.Symlink("one", b.path("link")))
	b.Pin("call", b.Look(b.path("link")))
	b.Pin("call", b.Look(b.path("new")))
	must(t, os.WriteFile(b.path("new"), []byte("2"), 0o600))
	for _, name := range []string{"link", "one", "new"} {
		_, file, _, err := b.StreamPinned("call", b.path(name), "file_path")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		must(t, file.Close())
	}
	var refused *Refusal
	if _, _, _, err := b.StreamPinned("call", "one", "file_path"); !errors.As(err, &refused) || refused.Code != Relative {
		t.Errorf("a relative path: %v", err)
	}
}
