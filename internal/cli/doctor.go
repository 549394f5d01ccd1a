package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/haftdev/haft/internal/harness/doctor"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/text/lang"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/models/provider"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/model"
)

func newDoctor(s Streams, reexec shellrun.Reexec) *cobra.Command {
	f := &doctorFlags{Streams: s, reexec: reexec}
	c := &cobra.Command{
		Use:   "doctor",
		Short: message("Check the configuration and suggest fixes"),
		Long: message(`Check the configuration and suggest fixes. Nothing is started
and no request is sent, unless you give --connect: then the model is asked for one
word, and the MCP servers are started. The exit code is 1 if something is broken.`),
		Args: exactly(0),
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context()) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "write JSON")
	c.Flags().StringVar(&f.modelName, "model", "", "check this model instead of the configured one")
	c.Flags().StringVar(&f.settings, "settings", "", "settings to add: a JSON object, or a file")
	c.Flags().BoolVar(&f.connect, "connect", false, "ask the model for one word and start the MCP servers, to see whether they work")
	return c
}

type doctorFlags struct {
	Streams
	reexec        shellrun.Reexec
	json, connect bool

	modelName, settings string // of the flags
}

func (f *doctorFlags) run(ctx context.Context) error {
	credentialsFile().use()
	p, err := project.Open(&project.Options{Reexec: f.reexec, Settings: f.settings})
	if err != nil {
		return err
	}
	words := f.words()
	if f.json {
		words = nil
	}
	d := doctor.Diagnose(p, &doctor.Options{Version: version(), Model: f.modelName, NoServers: f.connect, Lang: words})
	if f.connect {
		f.model(ctx, p, d, words)
		if err := f.servers(ctx, p, d); err != nil {
			return err
		}
	}
	d.Conclude()
	if f.json {
		if err := writeJSON(f.Out, d); err != nil || d.Broken == 0 {
			return err
		}
		return codeError(exitFailed)
	}
	if _, err := io.WriteString(f.folded(), d.Text()); err != nil {
		return err
	}
	return d.Failed()
}

// model asks the model for a single word. A model that is not configured was reported
// before.
func (f *doctorFlags) model(ctx context.Context, p *project.Project, d *doctor.Diagnosis, words *lang.Catalogue) {
	ctx, cancel := context.WithTimeout(ctx, modelTime)
	defer cancel()
	env := p.ModelEnv()
	set, _ := p.Counts.Text("model")
	answer, err := askForAWord(ctx, &provider.Options{Model: cmp.Or(f.modelName, set.Text), MaxRetries: -1, Getenv: env.WithKey(env.Helper.Run)})
	switch {
	case env.Helper.Err != nil:
		d.Bad("model", env.Helper.Err.Error(), words.T("fix the command in the settings"))
	case errors.Is(err, provider.ErrNotConfigured):
	case err != nil:
		d.Bad("model", words.T("the test request failed: %s", err), words.T(modelFix(err)))
	default:
		d.OK("model", words.T("it answers: %s", answer))
	}
}

// modelFix is what to do about a model that does not answer.
func modelFix(err error) lang.Text {
	failed, ok := errors.AsType[*model.Error](err)
	if !ok {
		return "check the API key, the model's name and the address"
	}
	switch failed.Kind {
	case model.Unauthorized:
		return "check the API key"
	case model.Billing:
		return "check the account of the API key"
	case model.UnknownModel:
		return "check the model's name"
	case model.ConnectionLost, model.Stalled:
		return "check the network, and whether a server is running at that address"
	case model.RateLimited, model.Overloaded, model.ServerFailure:
		return "wait a few minutes, then run haft doctor --connect again"
	}
	return "check the API key, the model's name and the address"
}

// modelTime is how long the model may take for a word.
const modelTime = 30 * time.Second

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
				d.OK("mcp", text)
			}
		}
	}
	return nil
}
