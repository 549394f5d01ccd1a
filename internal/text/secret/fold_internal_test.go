package secret

import (
	"slices"
	"strings"
	"testing"
)

// Names that need no folding skip it: that must never make a difference.
func TestPlainNamesFoldToThemselves(t *testing.T) {
	pieces := []string{"a", "Z", "9", "_", "-", ".", " ", "~1", "::$", "é", "а", "\u200b", "\x01", "ſ", "env"}
	for _, a := range pieces {
		for _, b := range pieces {
			for _, c := range pieces {
				if name := a + b + c; plain(name) && foldName(name) != name {
					t.Errorf("%q is taken for plain and folds to %q", name, foldName(name))
				}
			}
		}
	}
}

// The names below a folder are those of the rest of the path, however it is spelled.
func TestNamesBelowAFolder(t *testing.T) {
	where := Where{Homes: []string{"/home/u"}, Roots: []string{"/home/u/Work"}}
	for _, path := range []string{"/home/u/Work/Sub/.ENV", "/home/u/Work/Sub/.ENV/", "/home/u/Work//Sub/./.ENV", "/HOME/u/Work/Sub/.ENV"} {
		n := where.Names(path)
		if want := []string{"work", "sub", ".env"}; len(n.Below) != 1 || !slices.Equal(n.Below[0], want) {
			t.Errorf("%s: %q below the home directory, want %q", path, n.Below, want)
		}
		if want := []string{"sub", ".env"}; strings.HasPrefix(path, "/home") && !slices.Equal(n.Inside, want) {
			t.Errorf("%s: %q inside the project, want %q", path, n.Inside, want)
		}
	}
}
