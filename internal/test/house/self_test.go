package house

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// registries and homes tie the tree to the network or the machine that it was
// made on. The words are put together here so that this file passes.
var (
	registries = []string{
		"proxy." + "golang.org", "sum." + "golang.org",
		"registry." + "npmjs.org", "registry." + "yarnpkg.com",
		"deb." + "debian.org", "security." + "debian.org", "ftp." + "debian.org",
		"archive." + "ubuntu.com", "security." + "ubuntu.com", "ports." + "ubuntu.com",
		"files." + "pythonhosted.org", "index." + "crates.io",
	}
	homes = []string{"/" + "work/", "/" + "root/"}
)

func TestTheTreeSpeaksOfItselfAlone(t *testing.T) {
	var findings []string
	for _, name := range textFiles(t) {
		findings = append(findings, strays(name, readFile(t, name))...)
	}
	report(t, findings,
		"Leave out addresses of package registries (lock files too: npm's omit-lockfile-registry-resolved does it) and absolute paths of one machine; use t.TempDir, $HOME or a made-up path.")
}

// strays returns the lines of a text that speak of somewhere else.
func strays(name, text string) []string {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil // not text
	}
	var out []string
	number := 0
	for line := range strings.Lines(text) {
		number++
		for _, word := range registries {
			if strings.Contains(line, word) {
				out = append(out, fmt.Sprintf("%s:%d: names %s", name, number, word))
			}
		}
		for _, home := range homes {
			if startsPath(line, home) {
				out = append(out, fmt.Sprintf("%s:%d: a path in %s", name, number, home))
			}
		}
	}
	return out
}

// startsPath reports whether dir opens a path somewhere in line, rather than
// being the middle of a longer one (src/dir/, ~/dir/, ${X}/dir/, */dir/).
func startsPath(line, dir string) bool {
	before, after, found := strings.Cut(line, dir)
	if !found {
		return false
	}
	return !goesOn.MatchString(before) || startsPath(after, dir)
}

var goesOn = regexp.MustCompile(`[\pL\pN_.~})*-]$`)
