package cli

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/world/shellrun"
)

func TestDescribeBuild(t *testing.T) {
	settings := func(pairs ...string) (out []debug.BuildSetting) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return out
	}
	const commit, date = "0947ea0c25a4f9d8a1b2c3d4e5f60718293a4b5c", "2026-11-16T01:44:11Z"
	for name, c := range map[string]struct {
		version  string
		settings []debug.BuildSetting
		want     build
		text     string
	}{
		"a release":              {"v1.2.3", settings("vcs.revision", commit, "vcs.time", date, "vcs.modified", "false"), build{Version: "1.2.3", Commit: commit, Date: date}, "haft version 1.2.3\ncommit " + commit + " of " + date + "\n"},
		"go install of a tag":    {"v1.2.3-rc.1", nil, build{Version: "1.2.3-rc.1"}, "haft version 1.2.3-rc.1\n"},
		"go install of a commit": {"v0.0.0-20261116014411-0947ea0c25a4", nil, build{Version: "0.0.0-20261116014411-0947ea0c25a4", Commit: "0947ea0c25a4", Date: date}, "haft version 0.0.0-20261116014411-0947ea0c25a4\ncommit 0947ea0c25a4 of " + date + "\n"},
		"a commit after a tag":   {"v1.2.4-0.20261116014411-0947ea0c25a4", nil, build{Version: "1.2.4-0.20261116014411-0947ea0c25a4", Commit: "0947ea0c25a4", Date: date}, "haft version 1.2.4-0.20261116014411-0947ea0c25a4\ncommit 0947ea0c25a4 of " + date + "\n"},
		"a changed work tree":    {"v1.2.3+dirty", settings("vcs.revision", commit, "vcs.modified", "true"), build{Version: "1.2.3+dirty", Commit: commit, Modified: true}, "haft version 1.2.3+dirty\ncommit " + commit + ", with uncommitted changes\n"},
		"a build of a folder":    {"(devel)", nil, build{Version: "0.0.0-devel"}, "haft version 0.0.0-devel\n"},
	} {
		c.want.Go, c.want.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
		got := describeBuild(&debug.BuildInfo{Main: debug.Module{Version: c.version}, Settings: c.settings})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if want := c.text + "built with " + c.want.Go + " for " + c.want.Platform + "\n"; got.String() != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := describeBuild(nil).Version; got != "0.0.0-devel" {
		t.Errorf("without build info: %q", got)
	}
}

// Who calls haft by the name of Claude Code reads the version of that at the start of the line.
func TestTheVersionOfWhoIsCalledClaude(t *testing.T) {
	for called, want := range map[string]string{"claude": likeClaude + " (Claude Code), by haft " + version() + "\n", "claude.exe": likeClaude + " (Claude Code), by haft " + version() + "\n", "haft": "haft version " + version() + "\n"} {
		var out strings.Builder
		Run(t.Context(), []string{"--version"}, Streams{In: strings.NewReader(""), Out: &out, Err: &out, called: called}, shellrun.Reexec{})
		if out.String() != want {
			t.Errorf("%s: %q", called, out.String())
		}
	}
}
