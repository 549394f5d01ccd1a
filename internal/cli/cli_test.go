package cli_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/cli"
	"github.com/haftdev/haft/internal/world/shellrun"
)

func run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = cli.Run(ctx, args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err}, shellrun.Reexec{})
	return code, out.String(), err.String()
}

func TestExitCodes(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		args string
		want int
	}{
		{"success", t.Context(), `tools call Sleep {"duration_ms":0}`, 0},
		{"help", t.Context(), `--help`, 0},
		{"nothing asked", t.Context(), ``, 0},
		{"unknown tool", t.Context(), `tools call Slep {}`, 2},
		{"wrong input", t.Context(), `tools call Sleep {}`, 2},
		{"malformed input", t.Context(), `tools call Sleep {`, 2},
		{"wrong arguments", t.Context(), `tools call Sleep`, 2},
		{"unknown command", t.Context(), `tols`, 2},
		{"unknown flag", t.Context(), `tools list --nope`, 2},
		{"cancelled", cancelled, `tools call Sleep {"duration_ms":60000}`, 130},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, out, errs := run(c.ctx, strings.Fields(c.args)...); got != c.want {
				t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", got, c.want, out, errs)
			}
		})
	}
}
