package cli

import (
	"context"
	"errors"
	"io"

	"github.com/haftdev/haft/internal/harness/doctor"
	"github.com/haftdev/haft/internal/harness/project"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/shellrun"
)

func newDoctor(s Streams, reexec shellrun.Reexec) *cobra.Command {
	f := &doctorFlags{Streams: s, reexec: reexec}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the configuration and suggest fixes",
		Long: `Check the configuration and suggest fixes. Nothing is started
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

func (f *doctorFlags) run(ctx context.Context) error {
	p, err := project.Open(&project.Options{Reexec: f.reexec})
	if err != nil {
		return err
	}
	d := doctor.Diagnose(p, &doctor.Options{Version: version(), NoServers: f.connect})
	if f.connect {
		if err := f.servers(ctx, p, d); err != nil {
			return err
		}
	}
	if f.json {
		if err := writeJSON(f.Out, d); err != nil || d.Broken == 0 {
			return err
		}
		return codeError(exitFailed)
	}
	if _, err := io.WriteString(f.Out, d.Text()); err != nil {
		return err
	}
	if d.Broken > 0 {
		return errors.New(count(d.Broken, "thing is", "things are") + " broken")
	}
	return nil
}

// servers starts the MCP servers to see whether they work.
func (f *doctorFlags) servers(ctx context.Context, p *project.Project, d *doctor.Diagnosis) error {
	s, err := p.Servers()
	if err != nil {
		return err
	}
	m := &mcpServers{s}
	infos, err := (&mcpFlags{Streams: f.Streams, reexec: f.reexec}).connect(ctx, m, m.List)
	if err != nil {
		return err
	}
	for _, i := range infos {
		for _, x := range examine(i) {
			text := x.Server + ": " + x.Text
			switch x.Level {
			case "error":
				d.Bad("mcp", text, x.Advice)
			case "warning":
				d.Warn("mcp", text, x.Advice)
			default:
				d.OK("mcp", "%s", text)
			}
		}
	}
	return nil
}
