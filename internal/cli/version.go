package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// likeClaude is the version of Claude Code that haft is compared with, and says to be for who calls
// it by that name.
const likeClaude = "2.1.325"

// A build is what a program knows about how it was built. It comes only from the go
// command, so that a release, go install and go build report the same for the same source.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"` // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(s Streams) *cobra.Command {
	c := &cobra.Command{
		Use: "version", Short: message("Show the version and how this program was built"), Args: exactly(0),
		Long: `Show the version of haft, and the commit and date it was built from, if the build
recorded them. 'haft --version' shows the version alone.`,
	}
	asJSON := c.Flags().Bool("json", false, "write JSON")
	c.RunE = func(*cobra.Command, []string) error {
		b := currentBuild()
		if *asJSON {
			return json.NewEncoder(s.Out).Encode(b)
		}
		_, err := fmt.Fprint(s.Out, b)
		return err
	}
	return c
}

// version is only the version, in the form that readers of sessions expect: numbers,
// without a v.
func version() string { return currentBuild().Version }

func currentBuild() build {
	info, _ := debug.ReadBuildInfo()
	return describeBuild(info)
}

// describeBuild reads what the go command recorded; info is nil in a program without it.
func describeBuild(info *debug.BuildInfo) build {
	b := build{Version: "0.0.0-devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return b
	}
	if v, ok := strings.CutPrefix(info.Main.Version, "v"); ok {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	if m := pseudoVersion.FindStringSubmatch(b.Version); m != nil && b.Commit == "" {
		b.Commit = m[2]
		if at, err := time.Parse("20060102150405", m[1]); err == nil {
			b.Date = at.Format(time.RFC3339)
		}
	}
	return b
}

// pseudoVersion matches the go command's version of a commit without a tag: go install
// records nothing else about it.
var pseudoVersion = lazyregexp.New(`[-.](\d{14})-([0-9a-f]{12})(?:\+|$)`)

func (b build) String() string {
	text := "haft version " + b.Version + "\n"
	if b.Commit != "" {
		text += "commit " + b.Commit
		if b.Date != "" {
			text += " of " + b.Date
		}
		if b.Modified {
			text += ", with uncommitted changes"
		}
		text += "\n"
	}
	return text + "built with " + b.Go + " for " + b.Platform + "\n"
}
