package gitconfig_test

import (
	"testing"

	"github.com/haftdev/haft/internal/shell/gitconfig"
)

// TestSettingsThatRunNothing: what git writes while one works with branches is harmless, and nothing
// that runs a program or leads elsewhere is.
func TestSettingsThatRunNothing(t *testing.T) {
	const before = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@example.com:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"
	for after, want := range map[string]bool{
		before: true,
		before + "[branch \"topic/x\"]\n\tremote = origin\n\tmerge = refs/heads/topic/x\n":                                              true,
		before + "[remote \"up\"]\n\turl = ../u.git\n\tfetch = +refs/heads/*:refs/remotes/up/*\n":                                       true,
		before + "[user]\n\tname = A B\n\temail = a@example.com\n":                                                                      true,
		"[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@example.com:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n": true,
		before + "[branch \"topic\"]\n\tremote = https://evil.example/x.git\n":                                                          false,
		before + "[remote \"up\"]\n\turl = ext::sh -c date\n":                                                                           false,
		before + "[remote \"up\"]\n\turl = --upload-pack=date\n":                                                                        false,
		before + "[remote \"up\"]\n\tuploadpack = date\n":                                                                               false,
		before + "[remote \"origin\"]\n\tpushurl = git@evil.example:x.git\n":                                                            false,
		before + "[remote \"origin\"]\n\turl = git@evil.example:x.git\n":                                                                false,
		before + "[core]\n\tfsmonitor = date\n":                                                                                         false,
		before + "[core]\n\thooksPath = .husky\n":                                                                                       false,
		before + "[user] fsmonitor = date\n[core]\n\tfsmonitor = date\n":                                                                false,
		before + "[user]\n\tname = x\\\n[core]\n":                                                                                       false,
		before + "[include]\n\tpath = ../x\n":                                                                                           false,
		before + "[alias]\n\tst = !date\n":                                                                                              false,
		before + "[submodule \"s\"]\n\tupdate = !date\n":                                                                                false,
		before + "[user]\n\tname = \"x\n":                                                                                               false,
		"[core]\n\tbare = false\n":                                                                                                      false,
		"[remote \"origin\"]\n\turl = git@example.com:a/b.git\n":                                                                        false,
		"[core]\n\tbare = true\n" + before:                                                                                              false,
	} {
		if got := gitconfig.Harmless(before, after); got != want {
			t.Errorf("harmless is %v, want %v:\n%s", got, want, after)
		}
	}
}
