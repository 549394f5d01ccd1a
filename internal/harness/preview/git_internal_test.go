package preview

import (
	"io/fs"
	"testing"
)

// TestOnlyWhatGitWritesIsFolded holds that a file which only lies in a repository's folder
// is shown as a file.
func TestOnlyWhatGitWritesIsFolded(t *testing.T) {
	const object = "objects/0a/123456789012345678901234567890123456ab"
	for name, want := range map[string]string{
		object: "git", "objects/pack/pack-12ab.idx": "git", "objects/info/packs": "git", "objects": "git", "objects/zz/evil.sh": "", "objects/info/alternates": "",
		"objects/0a/evil": "", "logs/HEAD": "git", "logs/refs/heads/x": "git", "logs/evil.sh": "", "hooks/commit-msg.sample": "git", "evil.sample": "",
		"hooks/commit-msg": "", "config": "", "commondir": "", "index": "git", "refs/heads/x": "git", "COMMIT_EDITMSG": "git",
	} {
		var e entry
		e.path = "/p/.git/" + name
		if got := folded(&e); got != want {
			t.Errorf("%s: folded %q, want %q", name, got, want)
		}
	}
	var e entry
	e.path, e.after.Mode = "/p/.git/COMMIT_EDITMSG", fs.FileMode(0o755)
	if got := folded(&e); got != "" {
		t.Errorf("a program is folded: %q", got)
	}
}
