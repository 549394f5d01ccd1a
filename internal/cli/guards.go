package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/harness/project"

	"github.com/haftdev/haft/internal/ask"
	"github.com/haftdev/haft/internal/headless"
	"github.com/haftdev/haft/internal/trust"
)

// askGuards asks, line by line, what to do about a project whose hooks guard it and are
// not trusted. The screen asks in its own way.
func (f *converseFlags) askGuards(ctx context.Context, opts *headless.Options) error {
	p, err := project.Open(&opts.Harness)
	if err != nil {
		return nil // which the conversation says, when it cannot be opened
	}
	unguarded := trust.NewUnguarded(p.Dir, p.Held)
	if unguarded == nil {
		return nil
	}
	fmt.Fprintf(f.Out, "This folder has hooks that guard it and are not trusted:\n")
	for _, h := range unguarded.Hooks {
		fmt.Fprintf(f.Out, "  %s\n", ask.Visible(h.String()))
	}
	fmt.Fprintf(f.Out, "t: trust all that this folder brings, as it is now · w: continue without its hooks · anything else: leave\n> ")
	answer, err := readLine(ctx, f.In)
	if err != nil {
		return err
	}
	switch strings.TrimSpace(answer) {
	case "t":
		var items []trust.Item
		for _, h := range slices.Concat(p.Held, p.HeldClaims()) {
			if h.Never == "" {
				items = append(items, h.Item)
			}
		}
		opts.Harness.TrustProject = true // also what cannot be kept
		return p.Folder.Grant(ctx, items...)
	case "w":
		opts.Harness.IgnoreProjectHooks = true
		return nil
	}
	return usageError{unguarded}
}
