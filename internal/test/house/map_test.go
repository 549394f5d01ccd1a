package house

import (
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"
)

// The folders of internal/ are the layers, and what a program may import is a short list. Both
// are to stay what a reader can keep in mind: a new folder or public package is a decision, not a habit.
const (
	mostFolders = 14
	mostPublic  = 16
)

func TestTheTreeShowsTheLayers(t *testing.T) {
	folders, public := map[string]bool{}, []string{}
	for _, p := range allPackages(t) {
		if rest, ok := strings.CutPrefix(p.dir, "internal/"); ok {
			folder, _, _ := strings.Cut(rest, "/")
			folders["internal/"+folder] = true
		} else if p.name != "main" && p.dir != notForImport && !strings.Contains(p.dir, "/internal/") {
			public = append(public, p.dir)
		}
	}
	if len(folders) > mostFolders || len(public) > mostPublic {
		t.Errorf("%d folders in internal/, want at most %d; %d public packages, want at most %d: %q", len(folders), mostFolders, len(public), mostPublic, public)
	}
	text := readFile(t, "docs/dev/architecture.md")
	var findings []string
	for folder := range folders {
		if !strings.Contains(text, "`"+folder+"`") {
			findings = append(findings, folder+": is not in docs/dev/architecture.md")
		}
	}
	slices.Sort(findings)
	report(t, findings, "Say there what the folder is for.")
}

// What an exported declaration of the API names, a program must be able to name as well.
func TestTheAPINamesNoInternalType(t *testing.T) {
	u, public := ourUniverse(t), publicPackages(t)
	var findings []string
	for name, p := range u.checked {
		if !public(relative(name)) {
			continue
		}
		seen := &visible{universe: u, names: map[types.Object]bool{}, done: map[types.Type]bool{}}
		seen.all(p)
		for o := range seen.names {
			if o.Pkg() != nil && internalPath(o.Pkg().Path()) {
				findings = append(findings, relative(name)+": "+o.Pkg().Path()+"."+o.Name())
			}
		}
	}
	slices.Sort(findings)
	report(t, findings, "Declare the type in the public package, or take the declaration out of the API.")
}

// internalPath reports whether only this module can import a package.
func internalPath(p string) bool {
	return strings.HasPrefix(p, module) && slices.Contains(strings.Split(path.Clean(p), "/"), "internal")
}
