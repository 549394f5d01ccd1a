package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/permission/ask"
	"github.com/haftdev/haft/shellrun"
)

func newDoctor(s Streams, reexec shellrun.Reexec) *cobra.Command {
	f := &doctorFlags{Streams: s, reexec: reexec}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is set here, what is wrong with it and how to mend it",
		Long: `Say what is set here, what is wrong with it and how to mend it. Nothing is started
and nobody is asked: neither the model's server nor, without --connect, an MCP
server. The exit code is 1 if something is broken.`,
		Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context()) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "write JSON")
	c.Flags().BoolVar(&f.connect, "connect", false, "start the MCP servers to see whether they work")
	return c
}

type doctorFlags struct {
	Streams
	reexec        shellrun.Reexec
	json, connect bool
}

// A diagnosis is what doctor finds.
type diagnosis struct {
	Version  string    `json:"version"`
	Project  string    `json:"project"`
	Checks   []checked `json:"checks"`
	Broken   int       `json:"broken"`
	Warnings int       `json:"warnings"`
}

// checked is one thing that was looked at.
type checked struct {
	Area   string `json:"area"`
	Level  string `json:"level"` // ok, warning or error
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"`
}

func (d *diagnosis) ok(area, format string, args ...any) {
	d.Checks = append(d.Checks, checked{area, "ok", fmt.Sprintf(format, args...), ""})
}

func (d *diagnosis) warn(area, text, advice string) {
	d.Checks = append(d.Checks, checked{area, "warning", text, advice})
	d.Warnings++
}

func (d *diagnosis) bad(area, text, advice string) {
	d.Checks = append(d.Checks, checked{area, "error", text, advice})
	d.Broken++
}

func (f *doctorFlags) run(ctx context.Context) error {
	d, err := f.diagnose(ctx)
	if err != nil {
		return err
	}
	if f.json {
		if err := writeJSON(f.Out, d); err != nil || d.Broken == 0 {
			return err
		}
		return codeError(exitFailed)
	}
	fmt.Fprintf(f.Out, "haft %s in %s\n\n", d.Version, ask.Visible(d.Project))
	for _, c := range d.Checks {
		fmt.Fprintf(f.Out, "%s %s: %s\n", levelMarks[c.Level], c.Area, visibleLines(c.Text))
		if c.Advice != "" {
			fmt.Fprintf(f.Out, "  → %s\n", visibleLines(c.Advice))
		}
	}
	if d.Broken > 0 {
		return errors.New(count(d.Broken, "thing is", "things are") + " broken")
	}
	return nil
}
